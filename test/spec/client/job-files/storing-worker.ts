/** A worker on the kit whose jobs store files as their input says. */
import { start } from "../../../../packages/worker/src/index.ts";

await start({
	async handler(job, { files }) {
		const { name, text, base64, path } = job.input as { name?: string; text?: string; base64?: string; path?: string };
		if (name === undefined && path === undefined) return { variables: bucketVariables() };
		const bytes = base64 === undefined ? Buffer.from(text ?? "") : Buffer.from(base64, "base64");
		return await files.put(path ?? bytes, name === undefined ? {} : { name });
	},
});

function bucketVariables(): Record<string, string | undefined> {
	return Object.fromEntries(Object.entries(process.env).filter(([name]) => name.startsWith("BUCKET_")));
}
