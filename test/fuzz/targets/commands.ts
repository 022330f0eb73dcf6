/** Commands of containers, as RunPod's management API takes them. */
import fc from "fast-check";
import { argsOf, changedCommand, commandIn } from "../../../src/modules/management/endpoints/command.ts";
import { jsonText, oddText } from "../generate.ts";
import { same, target } from "../target.ts";

const piece = fc.oneof(oddText, fc.constantFrom("'", '"', "\\", " ", "\n", "$", "`", "a", "{", '{"cmd":["a"]}'));

export const COMMANDS = target({
	name: "commands",
	sources: ["modules/management/endpoints/command.ts"],
	cases: fc.oneof(
		jsonText,
		fc.array(piece, { maxLength: 12 }).map((pieces) => pieces.join("")),
	),
	check(given) {
		const text = String(given);
		const meant = commandIn(text);
		if ("fault" in meant) return;
		same("lists as text", commandIn(argsOf(meant)), meant);
		same("change", changedCommand({ args: "", entrypoint: [], cmd: [] }, { args: text, ...meant }), {
			args: text,
			...meant,
		});
	},
});
