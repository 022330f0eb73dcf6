/** A worker on the built worker kit that writes to its standard output, one job at a time. */
import type { start as Start } from "../../../packages/worker/src/index.ts";

const kit = new URL("../../../dist/worker/index.js", import.meta.url).href;
const { start } = (await import(kit)) as { start: typeof Start };

console.log(`up as ${process.env["RUNPOD_POD_ID"]}`);

await start<{ say: string; exit?: number }>({
	async handler({ input: { say, exit } }) {
		console.log(`\u001b[32m${say}\u001b[0m`);
		process.stdout.write("10%\r60%\r100%\u001b]0;title\u0007\n");
		console.error(`${say} on stderr`);
		if (exit !== undefined) process.exit(exit);
		return { said: say };
	},
});
