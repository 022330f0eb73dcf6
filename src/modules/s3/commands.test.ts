import { expect, it } from "vitest";
import { COMMANDS } from "../../cli/commands/commands.ts";
import { credentialsText } from "./commands.ts";

const given = { endpointUrl: "https://a.test:8443/s3", accessKeyId: "sluice-ep-1", secretAccessKey: "s3cret" };

it("D59: credentials are a verb of `sluice files`", () => {
	const found = COMMANDS.filter(({ name }) => name === "files");
	expect(found).toHaveLength(1);
	const [group] = found;
	expect("actions" in group! && group.actions.map(({ name }) => name)).toEqual([
		...["list", "get", "put", "rm", "credentials"],
	]);
});

it("D59: all forms have the address, the key id and the secret, which also stand alone", () => {
	const all = credentialsText(given, undefined);
	expect(all).toMatch(/^URL {5}https:\/\/a\.test:8443\/s3\nKEY ID {2}sluice-ep-1\nSECRET {2}s3cret\n\n# /);
	for (const format of ["env", "boto3", "aws", "rclone", "s3cmd"]) {
		const one = credentialsText(given, format);
		expect(all).toContain(one);
		expect(one).toContain("a.test:8443");
		expect(one).toContain("sluice-ep-1");
		expect(one).toContain("s3cret");
	}
	expect(credentialsText(given, "s3cmd")).toContain(
		"host_base = a.test:8443\nhost_bucket = a.test:8443\nuse_https = True\n",
	);
	expect(() => credentialsText(given, "toString")).toThrow("--format must be one of env, boto3, aws, rclone, s3cmd");
});
