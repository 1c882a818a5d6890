// Prints admissions and preemptions as Tidegate publishes them: each once, in the ledger's order, none left out.
//
//   npm ci && node events.mjs nats://127.0.0.1:4222 [SEQ]
//
// From SEQ on; without it from the first that EVENTS holds. Of several partitions each counts its own:
// 0=41,1=7. Environment: TIDEGATE_CLUSTER (local), TIDEGATE_PARTITION (a number; default: all that there
// are at the start), TIDEGATE_NATS_CREDENTIALS and TIDEGATE_NATS_CA (files), TIDEGATE_NATS_INBOX (a prefix,
// where the user has one), TIDEGATE_SERVER (http://… of `tidegate serve`, which has what the stream no
// longer holds; of another partition than 0 TIDEGATE_SERVER_1).
import { readFileSync } from "node:fs";
import { connect, credsAuthenticator, DeliverPolicy } from "nats";

const { env } = process;
const cluster = env.TIDEGATE_CLUSTER ?? "local";
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

// Those that are asked for: one, or all whose ledgers the register names.
async function partitions(manager) {
  if (env.TIDEGATE_PARTITION) return [Number(env.TIDEGATE_PARTITION)];
  const bucket = `tidegate_${cluster}_register`;
  const options = { subjects_filter: `$KV.${bucket}.>` };
  try {
    const { state } = await manager.streams.info(`KV_${bucket}`, options);
    const prefix = `$KV.${bucket}.ledger-`;
    const others = Object.keys(state.subjects ?? {}).filter((subject) => subject.startsWith(prefix));
    return [0, ...others.map((subject) => Number(subject.slice(prefix.length)))];
  } catch (error) {
    if (error.api_error?.code === 404) return [0];
    throw error;
  }
}

// "41" is meant of each partition, "0=41,1=7" of these; undefined: from the first that EVENTS holds.
function firstSeq(since, partition) {
  if (!since?.includes("=")) return since === undefined ? undefined : Number(since);
  const parts = new Map(since.split(",").map((part) => part.split("=")));
  return Number(parts.get(`${partition}`) ?? 1);
}

// The stream counts from another number than the ledger: Nats-Msg-Id says by how much, behind an @.
async function firstSequence(manager, stream, subjects, since) {
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
async function fill(server, ledger, after, before) {
  let at = after;
  while (at + 1 < before && server) {
    const limit = Math.min(1000, before - 1 - at);
    const answer = await fetch(`${server}/v1/events?after=${at}&limit=${limit}`);
    if (!answer.ok) throw new Error(`${server} answered ${answer.status}`);
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

async function follow(connection, manager, partition, since) {
  const place = partition ? `partition.${partition}.` : "";
  const suffix = partition ? `_${partition}` : "";
  const stream = `tidegate_${cluster}_events${suffix}`;
  const subjects = `tidegate.${cluster}.${place}event.>`;
  const asked = { filterSubjects: [subjects] };
  let at = null; // the newest seq that was told, and of which ledger
  let known = "";
  if (since !== undefined) {
    at = since - 1;
    asked.deliver_policy = DeliverPolicy.StartSequence;
    asked.opt_start_seq = await firstSequence(manager, stream, subjects, since);
  }
  const consumer = await connection.jetstream().consumers.get(stream, asked);
  for await (const message of await consumer.consume()) {
    const { ledger, seq } = identity(message.headers);
    if (at !== null && (known === "" || known === ledger)) {
      if (seq <= at) continue; // told already: the stream was filled again
      await fill(env[`TIDEGATE_SERVER${suffix}`], ledger, at, seq);
    }
    const type = message.headers.get("ce-type").replace("dev.tidegate.", "");
    show(message.headers.get("ce-time"), ledger, seq, type, message.json());
    [at, known] = [seq, ledger];
  }
}

try {
  const connection = await connect(options);
  const manager = await connection.jetstreamManager({ checkAPI: false }); // whom rights allow no more
  const numbers = await partitions(manager);
  const since = process.argv[3];
  // Who misses one partition's events ends.
  await Promise.race(
    numbers.map((number) => follow(connection, manager, number, firstSeq(since, number))),
  );
} catch (error) {
  console.error(error.message);
  process.exit(1);
}
