/** Commands as they are typed. */
import { expect, it } from "vitest";
import { wordsOf } from "./words.ts";

it.each([
	["", []],
	["  node   worker.js ", ["node", "worker.js"]],
	[`python -c "print('a b')"`, ["python", "-c", "print('a b')"]],
	[`'/opt/my worker/run' --name="A B" ''`, ["/opt/my worker/run", "--name=A B", ""]],
	[`it's`, ["it's"]],
])("%j is %j", (text, words) => {
	expect(wordsOf(text)).toEqual(words);
});
