/** `sluice files put`: uploads a file. */
import type { FileObject } from "../routes.ts";
import type { Action } from "../../../cli/framework/command.ts";
import { formatOf, OUTPUT_FLAGS, printAnswer, spanOf } from "../../../cli/framework/common-flags.ts";
import { sendFile } from "../../../cli/framework/endpoint-files.ts";
import { bytesText } from "../../../cli/framework/progress-bar.ts";

export const put: Action = {
	name: "put",
	args: ["ENDPOINT", "FILE"],
	summary: "upload a file; prints its id",
	flags: {
		purpose: { value: "PURPOSE", summary: "batch, user_data or vision (default: batch for .jsonl, else user_data)" },
		expires: { value: "TIME", summary: "lifetime, 1h to 30d (default: 30d for batch, else none)" },
		...OUTPUT_FLAGS,
	},
	examples: ["sluice files put hello lines.jsonl", "sluice files put hello receipt.jpg --purpose vision --expires 7d"],
	async run(input) {
		const [endpoint = "", file = ""] = input.args;
		const { purpose = file.endsWith(".jsonl") ? "batch" : "user_data", expires } = input.flags;
		formatOf(input.flags);
		const fields: [string, string][] = [["purpose", purpose]];
		if (expires !== undefined)
			fields.push(
				["expires_after[anchor]", "created_at"],
				["expires_after[seconds]", String(Math.round(spanOf("expires", expires) / 1000))],
			);
		const answer = await sendFile(input.service, { endpoint, file, fields });
		const { id, bytes } = answer.json as FileObject;
		return printAnswer(answer, input, () => `${id}  ${bytesText(bytes)}\n`);
	},
};
