/**
 * Preloaded into a process (`--import`): its time of day is ahead by the number in the file
 * STEP_CLOCK, ms, as if it had been set. In every thread; the monotonic clock stays.
 */
import { readFileSync } from "node:fs";

const file = process.env["STEP_CLOCK"] ?? "";
const real = Date.now;
let ahead = 0;

function read() {
	try {
		ahead = Number(readFileSync(file, "utf8"));
	} catch {
		ahead = 0;
	}
}
read();
setInterval(read, 20).unref();
Date.now = () => real() + ahead;
