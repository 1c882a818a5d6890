// Checks that an event is under a signed checkpoint, from docs/ledger.md alone: no Tidegate, no packages.
//
//   node verify.mjs PROOF.json AUDIT.key.pub
//
// PROOF.json is what `tidegate ledger prove` writes. Exits with 0 and prints the event, or with 1.
import { createHash, createPublicKey, verify } from "node:crypto";
import { readFileSync } from "node:fs";

const COLUMNS = [
  "partition", "seq", "epoch", "turn", "at_us", "cluster", "type", "subject", "payload",
];

function sha256(...parts) {
  const hash = createHash("sha256");
  for (const part of parts) hash.update(part);
  return hash.digest();
}

function refuse(why) {
  console.error(`It does not hold: ${why}.`);
  process.exit(1);
}

// The hash of a row: over the hash before and each column as text, behind its length in characters.
function rowHash(before, row) {
  const told = COLUMNS.map((name) => {
    const text = String(row[name]);
    return `${[...text].length}:${text}`;
  });
  return sha256(before, Buffer.from(told.join(""), "utf8"));
}

// The signature is over a first line and the claim as JSON without white space, in the file's order.
function checkSignature(checkpoint, key) {
  const claim = JSON.stringify(checkpoint.claim);
  const signed = Buffer.from(`tidegate checkpoint 1\n${claim}`, "utf8");
  if (!verify(null, signed, key, Buffer.from(checkpoint.signature, "hex"))) {
    refuse("the checkpoint was not signed by this key");
  }
}

const node = (left, right) => sha256(Buffer.from([1]), left, right);

// The root over the peaks, the largest first.
function rootOf(peaks) {
  const hashes = peaks.map((peak) => Buffer.from(peak, "hex"));
  return hashes.reduceRight((right, left) => (right === null ? left : node(left, right)), null);
}

// RFC 9162, section 2.1.3.2: from a leaf and its path to the root of a tree of so many leaves.
function rootFrom(leaf, index, leaves, path) {
  if (!Number.isSafeInteger(index) || index < 0 || index >= leaves) refuse("there is no such leaf");
  let [at, last, found] = [BigInt(index), BigInt(leaves) - 1n, leaf];
  for (const step of path.map((hash) => Buffer.from(hash, "hex"))) {
    if (last === 0n) refuse("the path is too long");
    if (at % 2n === 1n || at === last) {
      found = node(step, found);
      while (at % 2n === 0n && at !== 0n) [at, last] = [at / 2n, last / 2n];
    } else {
      found = node(found, step);
    }
    [at, last] = [at / 2n, last / 2n];
  }
  if (last !== 0n) refuse("the path is too short");
  return found;
}

const [proofFile, keyFile] = process.argv.slice(2);
const proof = JSON.parse(readFileSync(proofFile, "utf8"));
const { claim } = proof.checkpoint;
checkSignature(proof.checkpoint, createPublicKey(readFileSync(keyFile)));

// The rows of the turn follow each other, each sealed with the one before.
let hash = Buffer.from(proof.before, "hex");
proof.rows.forEach((row, place) => {
  const first = proof.rows[0];
  if (row.seq !== first.seq + place || row.turn !== first.turn) refuse("a row is out of its place");
  hash = rowHash(hash, row);
});

const leaf = sha256(Buffer.from([0]), hash);
const root = rootOf(claim.peaks);
if (!rootFrom(leaf, proof.leaf, claim.turns, proof.path).equals(root)) {
  refuse("its turn is not under the checkpoint");
}
const event = proof.rows.find((row) => row.seq === proof.seq);
if (event === undefined) refuse("its turn does not hold it");
console.log(`seq ${event.seq} of ledger ${claim.ledger_id}, under the checkpoint of seq ${claim.seq}:`);
console.log(event.payload);
