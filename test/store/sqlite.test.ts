/** The SQLite dialect keeps the contract. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll } from "vitest";
import { openSqlite } from "../../src/kernel/store/sqlite/open.ts";
import { conformance } from "./index.ts";

const folder = mkdtempSync(join(tmpdir(), "sluice-store-"));
let stores = 0;
afterAll(() => rmSync(folder, { recursive: true, force: true }));

conformance("SQLite", { open: () => openSqlite({ path: join(folder, `${(stores += 1)}.db`) }) });
