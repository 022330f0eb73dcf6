/**
 * Section 2.5: `s3Config` under a secret that is not the one it was encrypted with, once the
 * operator accepted that (D22).
 */
import { randomBytes } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { migrateStore } from "../../../src/kernel/stores.ts";
import { folder, startService } from "../../support/service.ts";
import { handWorker, statusOf, submitted } from "../hand-worker.ts";

it("D22: a job whose s3Config cannot be decrypted fails with a reason, and the next one is handed out", async () => {
	const place = folder();
	const endpoints = { ep: {} };
	const s3Config = {
		accessId: "an-id",
		accessSecret: "a-secret",
		bucketName: "b",
		endpointUrl: "https://s3.example.org",
	};
	try {
		const first = await startService({ endpoints, in: place });
		const id = await submitted(first, "ep", { input: {}, s3Config });
		const plain = await submitted(first, "ep");
		await first.end();
		const path = join(place.path, "sluice.db");
		writeFileSync(`${path}.secret`, randomBytes(32).toString("hex"));
		await expect(startService({ endpoints, in: place })).rejects.toThrow("is not the one");
		await migrateStore({ address: { kind: "sqlite", path }, check: false, newSecret: true });

		const second = await startService({ endpoints, in: place });
		const worker = await handWorker(second, "ep");
		// The poll that met it ends without a job.
		expect(await worker.take()).toBeUndefined();
		await worker.takeThis(plain);
		const failed = await statusOf(second, "ep", id);
		expect(failed).toMatchObject({
			status: "FAILED",
			error: expect.stringContaining("SLUICE_SECRET"),
		});
		expect(JSON.stringify(failed)).not.toContain("a-secret");
		await second.end();
	} finally {
		place.remove();
	}
});
