/** Waiting for a batch: outages, Ctrl-C and how often it is asked for (D36, D57). */
import { expect, it } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { CliError } from "../../../cli/client/errors.ts";
import { waitForEnd } from "./wait.ts";

const REQUESTS = {
	request_counts: { total: 10, completed: 1, failed: 0 },
	usage: { input_tokens: 0, output_tokens: 0 },
};
const open = { status: "in_progress", created_at: 1_800_000_000, ...REQUESTS };
const ended = { ...open, status: "completed" };

/** A wait for a batch whose service answers with what `answer` returns or throws at that time, ms after the start. */
function waiting(answer: (ms: number) => object | Promise<object>) {
	const clock = manualClock();
	const start = clock.now();
	const askedAt: number[] = [];
	const written: string[] = [];
	const stopped = new AbortController();
	const done = waitForEnd({
		service: {
			request: async () => {
				askedAt.push(clock.now() - start);
				return { text: "", json: await answer(clock.now() - start) };
			},
		},
		endpoint: "ep",
		id: "batch_1",
		clock,
		signal: stopped.signal,
		stream: { isTTY: false, columns: 80, write: (text: string | Uint8Array) => written.push(String(text)) > 0 },
	});
	done.catch(() => {});
	return { clock, askedAt, written, stopped, done };
}

it("D36: a batch of minutes is asked for each second, one of hours every ten", async () => {
	const { clock, askedAt, done } = waiting((ms) => (ms > 3_600_000 ? ended : open));
	await clock.advance(3_620_000);
	expect((await done).json).toBe(ended);
	expect(askedAt.slice(0, 4)).toEqual([0, 1000, 2000, 3000]);
	expect(askedAt.at(-1)! - askedAt.at(-2)!).toBe(10_000);
});

it("D36: a service that does not answer for minutes is said once and borne, and the next time too", async () => {
	const { clock, written, done } = waiting((ms) => {
		if ((ms > 5000 && ms < 300_000) || (ms > 320_000 && ms < 800_000))
			throw new CliError("The store is unavailable.", 1, 503);
		return ms > 900_000 ? ended : open;
	});
	await clock.advance(1_000_000);
	await done;
	expect(written.filter((text) => text.includes("unavailable"))).toEqual(
		Array(2).fill("The store is unavailable. Retrying.\n"),
	);
});

it("D36: after ten minutes without an answer the command ends and says how to go on", async () => {
	const { clock, askedAt, done } = waiting((ms) => {
		if (ms > 5000) throw new CliError("No service answers.", 1);
		return open;
	});
	await clock.advance(700_000);
	await expect(done).rejects.toMatchObject({
		exitCode: 1,
		message: "No service answers.\nThe batch goes on. Follow it: sluice batches get ep batch_1 --wait",
	});
	expect(askedAt.at(-1)).toBeGreaterThan(605_000);
});

it.each([404, 401, 403])("D36: a refusal with %d ends it at once", async (status) => {
	const { clock, askedAt, done } = waiting(() => {
		throw new CliError("No.", 1, status);
	});
	await clock.advance(0);
	await expect(done).rejects.toThrow("No.");
	expect(askedAt).toEqual([0]);
});

it("D36: Ctrl-C ends it while it sleeps, and while the service does not answer", async () => {
	for (const answer of [() => open, () => new Promise<object>(() => {})]) {
		const { clock, stopped, done } = waiting(answer);
		await clock.advance(0);
		stopped.abort(new CliError("Stopped.", 130));
		await expect(done).rejects.toThrow("Stopped.");
	}
});
