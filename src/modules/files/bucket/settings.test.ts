/** `files.bucket` of `sluice.yaml` (D61). */
import { expect, it } from "vitest";
import { loadConfig } from "../../../kernel/config/config.ts";
import { MODULES } from "../../index.ts";
import type { FilesSettings } from "../settings.ts";

const FILES: Readonly<Record<string, string>> = {
	"/etc/secret": "of a file\n".replaceAll(" ", "-"),
	"/etc/empty": "\n",
};
const GIVEN = { url: "https://s3.example.com/", name: "kept", accessKeyId: "AKID", secretAccessKey: "${SECRET}" };

function load(bucket: object, more: object = {}, env: Record<string, string> = { SECRET: "of-a-variable" }) {
	const text = JSON.stringify({ files: { bucket, ...more } });
	const readFile = (path: string): string | undefined => (path === "/etc/sluice.yaml" ? text : FILES[path]);
	const flags = { config: "/etc/sluice.yaml" };
	return loadConfig({ modules: MODULES, flags, env, cwd: "/etc", readFile });
}

function loaded(...q: Parameters<typeof load>) {
	const found = load(...q);
	if (!found.ok) throw new Error(found.problems.join("\n"));
	const { bucket } = found.config.modules["files"] as FilesSettings;
	return { bucket, secrets: found.config.secretVariables };
}

const problemsOf = (...q: Parameters<typeof load>): string => {
	const found = load(...q);
	return found.ok ? "" : found.problems.join("\n");
};

it("D61: the secret is a variable, which workers do not get, or a file; the rest has defaults", () => {
	const { bucket, secrets } = loaded(GIVEN);
	expect(bucket).toEqual({
		...GIVEN,
		url: "https://s3.example.com",
		region: "us-east-1",
		prefix: "",
		secretAccessKey: "of-a-variable",
	});
	expect(secrets).toContain("SECRET");
	const { secretAccessKey: _, ...without } = GIVEN;
	expect(loaded({ ...without, secretAccessKeyFile: "secret" }).bucket?.secretAccessKey).toBe("of-a-file");
});

it("D61: what is wrong is named with its bound, and never with the secret", () => {
	for (const [given, sentence] of [
		[{ ...GIVEN, url: "ftp://x" }, "files.bucket.url must be an http or https address"],
		[{ ...GIVEN, url: "http://[" }, "files.bucket.url must be an http or https address"],
		[{ ...GIVEN, name: "a/b" }, "files.bucket.name must be the name of a bucket"],
		[{ ...GIVEN, prefix: "/a" }, "files.bucket.prefix must be names with a slash behind each"],
		[{ ...GIVEN, secretAccessKey: "a secret" }, "files.bucket.secretAccessKey must be 1 to 256 characters"],
		[{ ...GIVEN, secretAccessKeyFile: "secret" }, "must have either secretAccessKey or secretAccessKeyFile"],
		[{ ...GIVEN, secretAccessKey: undefined }, "must have either secretAccessKey or secretAccessKeyFile"],
		[{ ...GIVEN, secretAccessKey: undefined, secretAccessKeyFile: "empty" }, "cannot read a secret"],
		[{ url: GIVEN.url }, "files.bucket.name"],
	] as const) {
		expect(problemsOf(given)).toContain(sentence);
		expect(problemsOf(given)).not.toMatch(/a secret\b.*a secret|of-a-/);
	}
	expect(problemsOf(GIVEN, {}, {})).toContain("the variable SECRET is not set");
	expect(problemsOf(GIVEN, { maxMb: 50_001 })).toContain("files.maxMb must be at most 50000 with files.bucket");
});
