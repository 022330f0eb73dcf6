/** The options of the address: encryption, and what is checked of the server's certificate. */
import { chownSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { Client } from "pg";
import { afterAll, beforeAll, expect, it } from "vitest";
import { pendingMigrations } from "../../src/kernel/store/postgres/schema.ts";
import { serverUser } from "../support/postgres-programs.ts";
import { type PostgresServer, startPostgres } from "../support/postgres-server.ts";
import { RECEIVER_CERTIFICATE, RECEIVER_KEY } from "../support/receiver-certificate.ts";

let server: PostgresServer;
let url: string;
let authority: string;

beforeAll(async () => {
	server = await startPostgres();
	authority = join(dirname(server.dataDir), "ca.pem");
	writeFileSync(authority, RECEIVER_CERTIFICATE);
	for (const [name, text] of [
		["server.crt", RECEIVER_CERTIFICATE],
		["server.key", RECEIVER_KEY],
	] as const) {
		const path = join(server.dataDir, name);
		writeFileSync(path, text, { mode: 0o600 });
		const user = serverUser();
		if (user) chownSync(path, user.uid, user.gid);
	}
	writeFileSync(join(server.dataDir, "postgresql.auto.conf"), "ssl = on\n", { flag: "a" });
	// From here on nothing is taken unencrypted.
	writeFileSync(
		join(server.dataDir, "pg_hba.conf"),
		"local all all scram-sha-256\nhostssl all all 127.0.0.1/32 scram-sha-256\n",
	);
	await server.stop();
	await server.start();
	({ url } = await server.createDatabase());
});

afterAll(async () => {
	await server?.remove();
});

it("sslmode=no-verify encrypts", async () => {
	expect(await pendingMigrations({ url: `${url}?sslmode=no-verify` })).not.toEqual([]);
	const client = new Client({ connectionString: `${url}?sslmode=no-verify` });
	await client.connect();
	expect((await client.query("SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()")).rows).toEqual([
		{ ssl: true },
	]);
	await client.end();
});

it.each([
	["without encryption, where it is required", "", /no pg_hba\.conf entry for host .* no encryption/],
	["with a certificate of an unknown authority", "?sslmode=verify-full", /self-signed certificate/],
	[
		"with the certificate of another name",
		"?sslmode=verify-full&sslrootcert=CA",
		/does not match certificate's altnames: IP: 127\.0\.0\.1 is not in the cert's list/,
	],
	[
		"with a file that is not there",
		"?sslmode=verify-full&sslrootcert=/none.pem",
		/^The address of PostgreSQL at 127\.0\.0\.1:\d+\/test_\w+ cannot be used: ENOENT/,
	],
])("a server %s is refused with the reason", async (_, options, reason) => {
	const refused = pendingMigrations({ url: url + options.replace("CA", authority) });
	await expect(refused).rejects.toThrow(reason);
	await expect(refused).rejects.not.toThrow(server.access.password);
});
