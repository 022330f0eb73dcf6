/** List and watch against a scripted API server, on a clock that is turned by hand. */
import { PassThrough } from "node:stream";
import { describe, expect, it, onTestFinished } from "vitest";
import { manualClock } from "../../../../test/support/manual-clock.ts";
import { untilTrue } from "../../../../test/support/until.ts";
import { type KubernetesClient, Refusal } from "../api/client.ts";
import { podWatch } from "./pod-watch.ts";

const pod = (uid: string, resourceVersion: string): object => ({
	metadata: { name: uid, uid, resourceVersion },
});

function begin() {
	const clock = manualClock();
	const calls: string[] = [];
	const seen: string[] = [];
	const errors: unknown[] = [];
	let listed: object[] = [];
	let fault: Error | undefined;
	let stream = new PassThrough();
	const answer = (call: string): void => {
		calls.push(call);
		if (fault) throw fault;
	};
	const client = {
		async call(_method: string, _path: string, { query }: { query: Record<string, string> }) {
			answer(`list ${query["continue"] ?? ""}`.trim());
			const next = query["continue"] === undefined && listed.length > 2 ? { continue: "more" } : {};
			const items = query["continue"] === undefined ? listed.slice(0, 2) : listed.slice(2);
			return { metadata: { resourceVersion: "10", ...next }, items };
		},
		async stream(_path: string, { query, signal }: { query: Record<string, string>; signal: AbortSignal }) {
			answer(`watch ${query["resourceVersion"]}`);
			const mine = (stream = new PassThrough());
			signal.addEventListener("abort", () => mine.destroy(new Error("aborted")));
			return mine;
		},
	} as unknown as KubernetesClient;
	return {
		clock,
		calls,
		seen,
		errors,
		list: (...pods: object[]) => void (listed = pods),
		fail: (error: Error | undefined) => void (fault = error),
		send: (type: string, object: object) => stream.write(`${JSON.stringify({ type, object })}\n`),
		cut: () => stream.end(),
		start() {
			const watch = podWatch({
				client,
				clock,
				namespace: "n",
				selector: "s",
				onPod: ({ metadata }, present) =>
					seen.push(`${present ? "+" : "-"}${metadata.uid}@${metadata.resourceVersion}`),
				onSynced: () => seen.push("synced"),
				onError: (error) => errors.push(error),
			});
			onTestFinished(() => watch.stop());
			return watch;
		},
	};
}

describe("podWatch", () => {
	it("lists in pages, watches from there, and resumes from the last version, bookmarks included", async () => {
		const api = begin();
		api.list(pod("a", "1"), pod("b", "2"), pod("c", "3"));
		const watch = api.start();
		await watch.ready(1000);
		await untilTrue(() => api.calls.length === 3);
		expect(api.calls).toEqual(["list", "list more", "watch 10"]);
		api.send("MODIFIED", pod("a", "11"));
		api.send("DELETED", pod("b", "12"));
		api.send("BOOKMARK", { metadata: { resourceVersion: "20" } });
		api.cut();
		await untilTrue(() => api.seen.includes("-b@12"));
		await api.clock.advance(1000);
		await untilTrue(() => api.calls.includes("watch 20"));
		expect(api.seen).toEqual(["+a@1", "+b@2", "+c@3", "synced", "+a@11", "-b@12"]);
		expect([...watch.pods.keys()]).toEqual(["a", "c"]);
	});

	it("lists again when the server has forgotten the version, and notices what is missing", async () => {
		const api = begin();
		api.list(pod("a", "1"));
		await api.start().ready(1000);
		await untilTrue(() => api.calls.includes("watch 10"));
		api.list(pod("b", "2"));
		api.send("ERROR", { code: 410 });
		api.cut();
		await untilTrue(async () => {
			await api.clock.advance(500);
			return api.seen.includes("-a@1");
		});
		expect(api.seen).toEqual(["+a@1", "synced", "+b@2", "-a@1", "synced"]);
		api.fail(new Refusal(410, "Expired", "too old"));
		api.cut();
		await untilTrue(async () => (await api.clock.advance(500), api.errors.length > 0));
		api.fail(undefined);
		await untilTrue(async () => {
			await api.clock.advance(500);
			return api.calls.slice(4).includes("list");
		});
	});

	it("lists again every 5 minutes while the watch goes on", async () => {
		const api = begin();
		await api.start().ready(1000);
		await untilTrue(() => api.calls.includes("watch 10"));
		await api.clock.advance(299_000);
		expect(api.calls).toEqual(["list", "watch 10"]);
		await api.clock.advance(2000);
		await untilTrue(() => api.calls.length === 4);
		expect(api.calls).toEqual(["list", "watch 10", "list", "watch 10"]);
		expect(api.errors).toEqual([]);
	});

	it("pauses longer after each failure, up to 5 s, and goes on", async () => {
		const api = begin();
		api.fail(new Error("down"));
		const watch = api.start();
		const late = watch.ready(3000).catch((error: Error) => error.message);
		await api.clock.advance(60_000);
		expect(await late).toBe("down");
		const failures = api.errors.length;
		expect(failures).toBeGreaterThan(12);
		expect(failures).toBeLessThan(20);
		api.fail(undefined);
		await api.clock.advance(5000);
		await untilTrue(() => api.seen.includes("synced"));
	});
});
