// Prints admissions and preemptions as Tidegate publishes them: each once, in the ledger's order, none left out.
//
//   npm ci && node events.mjs nats://127.0.0.1:4222 [SEQ]
//
// From SEQ on; without it from the first that EVENTS holds. Environment: TIDEGATE_CLUSTER (local),
// TIDEGATE_NATS_CREDENTIALS and TIDEGATE_NATS_CA (files), TIDEGATE_NATS_INBOX (a prefix, where the user
// has one), TIDEGATE_SERVER (http://… of `tidegate serve`, which has what the stream no longer holds).
import { readFileSync } from "node:fs";
import { connect, credsAuthenticator, DeliverPolicy } from "nats";

const { env } = process;
const cluster = env.TIDEGATE_CLUSTER ?? "local";
const stream = `tidegate_${cluster}_events`;
const subjects = `tidegate.${cluster}.event.>`;
const wanted = new Set(["WorkloadAdmitted", "WorkloadPreempted"]);

const url = new URL(process.argv[2] ?? "nats://127.0.0.1:4222");
const options = { servers: `${url.hostname}:${url.port || 4222}`, maxReconnectAttempts: -1 };
if (url.username) {
  options.user = decodeURIComponent(url.username);
  options.pass = decodeURIComponent(url.password);
}
if (url.protocol === "tls:") options.tls = {};
if (env.TIDEGATE_NATS_CREDENTIALS) {
  options.authenticator = credsAuthenticator(readFileSync(env.TIDEGATE_NATS_CREDENTIALS));
}
if (env.TIDEGATE_NATS_CA) options.tls = { caFile: env.TIDEGATE_NATS_CA };
if (env.TIDEGATE_NATS_INBOX) options.inboxPrefix = env.TIDEGATE_NATS_INBOX;

// ce-id is <ledger id>/<seq>.
function identity(headers) {
  const [ledger, seq] = headers.get("ce-id").split("/");
  return { ledger, seq: Number(seq) };
}

// The stream counts from another number than the ledger: Nats-Msg-Id says by how much, behind an @.
async function firstSequence(connection, since) {
  const manager = await connection.jetstreamManager();
  const newest = await manager.streams.getMessage(stream, { last_by_subj: subjects });
  const offset = Number(newest.header.get("Nats-Msg-Id").split("@")[1] ?? 0);
  return Math.max(1, since + offset);
}

function show(time, ledger, seq, type, event) {
  if (!wanted.has(type)) return;
  const by = event.by ? ` by ${event.by}` : "";
  console.log(`${time} ${ledger}/${seq} ${type} ${event.workload} in ${event.cluster_queue}${by}`);
}

// What lies between two seqs, from the ledger.
async function fill(ledger, after, before) {
  let at = after;
  while (at + 1 < before && env.TIDEGATE_SERVER) {
    const limit = Math.min(1000, before - 1 - at);
    const answer = await fetch(`${env.TIDEGATE_SERVER}/v1/events?after=${at}&limit=${limit}`);
    if (!answer.ok) throw new Error(`${env.TIDEGATE_SERVER} answered ${answer.status}`);
    const told = await answer.json();
    for (const one of told) {
      if (one.seq !== at + 1) break;
      show(one.at, ledger, one.seq, one.type, one.event);
      at = one.seq;
    }
    if (told.length === 0 || told[0].seq > at) break;
  }
  if (at + 1 < before) throw new Error(`events ${at + 1} to ${before - 1} are missing`);
}

const connection = await connect(options);
const asked = { filterSubjects: [subjects] };
let at = null; // the newest seq that was told, and of which ledger
let known = "";
if (process.argv[3] !== undefined) {
  at = Number(process.argv[3]) - 1;
  asked.deliver_policy = DeliverPolicy.StartSequence;
  asked.opt_start_seq = await firstSequence(connection, at + 1);
}
const consumer = await connection.jetstream().consumers.get(stream, asked);
try {
  for await (const message of await consumer.consume()) {
    const { ledger, seq } = identity(message.headers);
    if (at !== null && (known === "" || known === ledger)) {
      if (seq <= at) continue; // told already: the stream was filled again
      await fill(ledger, at, seq);
    }
    const type = message.headers.get("ce-type").replace("dev.tidegate.", "");
    show(message.headers.get("ce-time"), ledger, seq, type, message.json());
    [at, known] = [seq, ledger];
  }
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
