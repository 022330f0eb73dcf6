/** The key for secrets: which files are taken, and which key a database accepts. */
import { createHash } from "node:crypto";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeEach, describe, expect, it } from "vitest";
import { removePreviousKey, rotateKeyFile } from "./key-file.ts";
import { opensSecrets, secretKeys } from "./secret-key.ts";
import { ANY_KEY, joinChecks, keyCheck, type StoredSecrets } from "./key-check.ts";

const root = mkdtempSync(join(tmpdir(), "sluice-key-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const KEY = "0123456789abcdef".repeat(4);
const OTHER = "f".repeat(64);
const identity = "i".repeat(32);
const bytes = (text: string): Buffer => Buffer.from(text, "hex");
const EMPTY: StoredSecrets = { identity, check: undefined };
const checked = (text: string): StoredSecrets => ({
	...EMPTY,
	check: keyCheck(bytes(text), identity),
});
let database: string;
let files = 0;
beforeEach(() => {
	database = join(mkdtempSync(join(root, `${(files += 1)}-`)), "s.db");
});

function keyFor(stored: StoredSecrets, q: { file?: string; secret?: string } = {}): string {
	if (q.file !== undefined) writeFileSync(`${database}.secret`, q.file);
	const [key] = secretKeys({ secret: q.secret, database, random: (size) => new Uint8Array(size).fill(7) }, stored).ring;
	expect(key).toHaveLength(32);
	return Buffer.from(key).toString("hex");
}

it("D22: is made once, for its owner alone, where nothing is encrypted", () => {
	expect(keyFor(EMPTY)).toBe("07".repeat(32));
	expect(statSync(`${database}.secret`).mode & 0o777).toBe(0o600);
	expect(readFileSync(`${database}.secret`, "utf8")).toBe("07".repeat(32));
	expect(keyFor(checked("07".repeat(32)))).toBe("07".repeat(32));
	expect(readdirSync(join(database, ".."))).toEqual(["s.db.secret"]);
});

it.each([KEY, `${KEY}\n`, `${KEY}\r\n`, KEY.toUpperCase()])(
	"D22: takes a file of 64 hex digits, with a line end or none",
	(file) => {
		expect(keyFor(EMPTY, { file })).toBe(KEY);
	},
);

it.each([
	["an empty file", "", "is empty"],
	["a line end", "\n", "has 1 characters"],
	["a short key", KEY.slice(1), "has 63 characters"],
	["a long key", `${KEY}0`, "has 65 characters"],
	["zeros, as some file systems leave them", "\0".repeat(64), "has 64 characters"],
	["digits that are not hexadecimal", `g${KEY.slice(1)}`, "has 64 characters"],
	["two line ends", `${KEY}\n\n`, "has 66 characters"],
	["spaces", ` ${KEY}`, "has 65 characters"],
])("D22: refuses %s, whatever the database holds, and says what to do", (_, file, what) => {
	for (const stored of [EMPTY, checked(KEY)]) {
		expect(() => keyFor(stored, { file })).toThrow(what);
		expect(() => keyFor(stored, { file })).toThrow(
			/s\.db\.secret does not contain a key of 64 hex\w+ digits.*Restore \S+s\.db\.secret from a backup.*--new-secret/,
		);
		expect(readFileSync(`${database}.secret`, "utf8")).toBe(file);
	}
});

it("D22: what cannot be read at all is said as the system says it", () => {
	writeFileSync(join(database, "..", "file"), "");
	database = join(database, "..", "file", "s.db");
	expect(() => keyFor(EMPTY)).toThrow(/ENOTDIR/);
});

it("D22: refuses a key that the database was not encrypted with", () => {
	expect(keyFor(checked(KEY), { file: KEY })).toBe(KEY);
	expect(() => keyFor(checked(OTHER), { file: KEY })).toThrow(
		/The key in \S+ is not the one that the secrets in \S+ are encrypted with/,
	);
	expect(() => keyFor(checked(KEY), { secret: "another text" })).toThrow(/^SLUICE_SECRET is not the one/);
	const fromText = createHash("sha256").update("a text").digest("hex");
	expect(keyFor(checked(fromText), { secret: "a text" })).toBe(fromText);
});

it("D22: makes no new key where the old one is missing", () => {
	expect(() => keyFor(checked(KEY))).toThrow(/s\.db\.secret is missing: it holds the key/);
	expect(readdirSync(join(database, ".."))).toEqual([]);
});

it("D22: takes any key once the operator gave the old one up, and makes one where there is none", () => {
	const given = { ...EMPTY, check: ANY_KEY };
	expect(keyFor(given, { secret: "a text" })).toHaveLength(64);
	expect(keyFor(given)).toBe("07".repeat(32));
	expect(keyFor(given, { file: OTHER })).toBe(OTHER);
});

it("D22: with PostgreSQL it is of SLUICE_SECRET alone", () => {
	const random = (): Uint8Array => new Uint8Array();
	const none = { ...EMPTY };
	expect(secretKeys({ secret: "a", database: undefined, random }, none).ring[0]).toHaveLength(32);
	expect(() => secretKeys({ secret: undefined, database: undefined, random }, none)).toThrow(
		"SLUICE_SECRET is not set.",
	);
});

describe("a secret that is replaced", () => {
	const A = createHash("sha256").update("a").digest("hex");
	const B = createHash("sha256").update("b").digest("hex");
	const [a, b] = [keyCheck(bytes(A), identity), keyCheck(bytes(B), identity)];
	const random = (): Uint8Array => new Uint8Array();
	const accepted = (check: string, previous?: string) => {
		const found = secretKeys({ secret: "b", previousSecret: previous, database, random }, { ...EMPTY, check });
		return found.checks;
	};

	it("D22: a new key is added to those of the store before it is used; the ring must have them all", () => {
		const both = joinChecks([b, a]);
		expect(accepted(a, "a")).toEqual({ opened: a, used: both, alone: b });
		expect(accepted(both, "a")).toEqual({ opened: both, used: both, alone: b });
		expect(accepted(b, "a")).toEqual({ opened: b, used: b, alone: b });
		expect(accepted(b)).toEqual({ opened: b, used: b, alone: b });
		expect(() => accepted(both)).toThrow(/Set SLUICE_SECRET_PREVIOUS.*'sluice migrate --reencrypt'/);
		expect(() => accepted(both, "c")).toThrow(/Set SLUICE_SECRET_PREVIOUS/);
		expect(() => accepted(a)).toThrow(/SLUICE_SECRET is not the one/);
		expect(() => accepted(a, "c")).toThrow(/SLUICE_SECRET is not the one/);
	});

	it("D22: a replacement can be undone, and a key that only decrypts needs nothing of the store", () => {
		const undone = joinChecks([a, b]);
		expect(accepted(undone, "a")).toEqual({ opened: undone, used: undone, alone: b });
		expect(accepted(b, "c")).toEqual({ opened: b, used: b, alone: b });
	});

	it("D22: a backup's keys fit if they are all those that its secrets may be encrypted with", () => {
		const stored = { ...EMPTY, check: joinChecks([b, a]) };
		expect(opensSecrets([bytes(A), bytes(B)], stored)).toBe(true);
		expect(opensSecrets([bytes(B)], stored)).toBe(false);
	});

	it("D22: a key file with a new key has the earlier one in its second line until the end", () => {
		writeFileSync(`${database}.secret`, `${KEY}\n`);
		rotateKeyFile(database, OTHER);
		expect(() => rotateKeyFile(database, KEY)).toThrow(/already has a new key/);
		const found = secretKeys({ secret: undefined, database, random }, checked(KEY));
		expect(Buffer.from(found.ring[0]).toString("hex")).toBe(OTHER);
		expect(found.checks.used).toBe(joinChecks([checked(OTHER).check!, checked(KEY).check!]));
		removePreviousKey(database);
		expect(readFileSync(`${database}.secret`, "utf8")).toBe(OTHER);
		expect(statSync(`${database}.secret`).mode & 0o777).toBe(0o600);
		expect(keyFor(checked(OTHER))).toBe(OTHER);
	});
});
