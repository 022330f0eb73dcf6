/** The store option: accepted addresses, the data folder, the secret that PostgreSQL needs. */
import { describe, expect, it } from "vitest";
import { config, problems } from "../../../test/support/load-config.ts";
import { loadStore } from "./config.ts";

describe("--store", () => {
	it.each([
		"sqlite:",
		"data.db",
		"",
		"mysql://h/db",
		"postgres:h/db",
		"postgres://h",
		"postgres://h/",
		"postgres://h/db/more",
		"postgres://h/db#x",
		" postgres://h/db",
		"postgres://h/d b",
		"postgres://u:hid/den@h/db",
		"postgres://u:hid?den@h/db",
		"postgres://u:hid#den@h/db",
		"postgres://u:hidden@h:99999/db",
		"postgres://u:hidden@/db",
		"postgres://u:hidden%zz@h/db",
	])("D34: the store %j is refused with the forms that are not, and nothing of it is printed", (store) => {
		expect(problems({ flags: { store }, env: { SLUICE_SECRET: "s" } })).toEqual([
			"--store must be sqlite:<path>, such as sqlite:./data/sluice.db, " +
				"or postgres://user:password@host:5432/database " +
				"with special characters of user and password as %XX.",
		]);
		expect(loadStore({ flags: { store }, env: {}, cwd: "/srv" })).toMatchObject({
			ok: false,
			problems: [expect.not.stringContaining("hid")],
		});
	});

	it.each([
		"postgres://h/db",
		"postgresql://u:p%40ss@h:5432/db?sslmode=verify-full&sslrootcert=/etc/ca.pem",
		"postgres:///db?host=/var/run/postgresql",
		"postgres://[::1]:5433/db",
		"postgres://u@10.0.0.1/a%20b",
	])("D34: the store %j is a PostgreSQL, and what a server keeps is in a folder of its own", (url) => {
		const env = { SLUICE_SECRET: "s", SLUICE_STORE: url };
		expect(config({ env })).toMatchObject({
			store: { kind: "postgres", url },
			dataDir: "/srv/data",
		});
		expect(config({ env: { ...env, SLUICE_DATA_DIR: "e" }, flags: { "data-dir": "one" } }).dataDir).toBe("/srv/one");
		expect(loadStore({ flags: {}, env, cwd: "/srv" })).toEqual({
			ok: true,
			store: { kind: "postgres", url },
		});
	});

	it("D34: with SQLite the folder is the one of the file", () => {
		expect(config({ flags: { store: "sqlite:x/y.db", "data-dir": "z" } }).dataDir).toBe("/srv/x");
		expect(loadStore({ flags: {}, env: {}, cwd: "/srv" })).toEqual({
			ok: true,
			store: { kind: "sqlite", path: "/srv/data/sluice.db" },
		});
	});

	it("D22: with PostgreSQL SLUICE_SECRET is required", () => {
		expect(problems({ flags: { store: "postgres://u:hidden@h/db" } })).toEqual([
			expect.stringMatching(
				/^SLUICE_SECRET must be set when the store is PostgreSQL, to the same text on all servers: (?!.*hidden)/,
			),
		]);
		expect(problems({ flags: { store: "postgres://h/db" }, env: { SLUICE_SECRET: "" } })).toHaveLength(1);
	});
});
