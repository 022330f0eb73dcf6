/** The PostgreSQL dialect keeps the contract. */
import { systemClock } from "../../src/kernel/system/clock.ts";
import { openPostgres } from "../../src/kernel/store/postgres/open.ts";
import { storeDatabase } from "../support/postgres-stores.ts";
import { conformance } from "./index.ts";

conformance("PostgreSQL", {
	async open() {
		const { url, giveBack } = await storeDatabase();
		const store = await openPostgres({ url, clock: systemClock });
		return {
			...store,
			async close() {
				await store.close();
				giveBack();
			},
		};
	},
});
