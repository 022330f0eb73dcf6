/** Loaded into a service with `--import`: measures how long its event loop is blocked. Answers the message `read` with the longest gap since the last one, ms. */
const TICK_MS = 2;
let last = performance.now();
let longest = 0;

const timer = setInterval(() => {
  const now = performance.now();
  longest = Math.max(longest, now - last - TICK_MS);
  last = now;
}, TICK_MS);
timer.unref();

process.on("message", (word) => {
  if (word !== "read") return;
  // What blocks right now has not been seen by the timer yet.
  process.send?.({ longestMs: Math.round(Math.max(longest, performance.now() - last - TICK_MS) * 10) / 10 });
  longest = 0;
  last = performance.now();
});
process.channel?.unref();
