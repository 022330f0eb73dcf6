/**
 * Loaded into a service with `--import`: measures how long the event loop of its thread is blocked.
 * Answers the message `read` with the longest gap since the last one, ms.
 */
import { BroadcastChannel, isMainThread, threadName } from "node:worker_threads";

const TICK_MS = 2;
const channel = new BroadcastChannel("loop-probe");

if (isMainThread) {
	channel.onmessage = ({ data }) => {
		if (typeof data === "object") process.send?.(data);
	};
	process.on("message", (word) => channel.postMessage(word));
	process.channel?.unref();
} else if (threadName === "service") {
	let last = performance.now();
	let longest = 0;
	const timer = setInterval(() => {
		const now = performance.now();
		longest = Math.max(longest, now - last - TICK_MS);
		last = now;
	}, TICK_MS);
	timer.unref();
	channel.onmessage = ({ data }) => {
		if (data !== "read") return;
		// What blocks right now has not been seen by the timer yet.
		channel.postMessage({
			longestMs: Math.round(Math.max(longest, performance.now() - last - TICK_MS) * 10) / 10,
		});
		longest = 0;
		last = performance.now();
	};
}
channel.unref();
