/** The PostgreSQL dialect keeps the contract. */
import { systemClock } from "../../src/clock.ts";
import { openPostgres } from "../../src/store/postgres/open.ts";
import { postgres } from "../support/postgres.ts";
import { conformance } from "./index.ts";

const sealKey = Buffer.alloc(32, 1);

conformance("PostgreSQL", { open: async () => openPostgres({ url: (await (await postgres()).createDatabase()).url, clock: systemClock, sealKey }) });
