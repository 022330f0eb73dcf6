/** What is shown of a build, for records and lines as daemons send them. */
import { describe, expect, it } from "vitest";
import { type BuildLine, buildProgress } from "./build-progress.ts";

/** A member with bytes in the wire format of Protocol Buffers. */
function member(number: number, value: Buffer | string): Buffer {
	const bytes = Buffer.from(value);
	const length: number[] = [];
	let rest = bytes.length;
	for (; rest > 127; rest = Math.floor(rest / 128)) length.push((rest % 128) | 128);
	return Buffer.concat([Buffer.from([number * 8 + 2, ...length, rest]), bytes]);
}

/** A step of BuildKit: its digest, name and times. A number among them, `cached`, is no member with bytes. */
function vertex(digest: string, name: string, { started = false, completed = false } = {}): Buffer {
	const members = [member(1, digest), member(3, name), Buffer.from([4 * 8, 1])];
	if (started) members.push(member(5, "time"));
	if (completed) members.push(member(6, "time"));
	return member(1, Buffer.concat(members));
}

function output(digest: string, text: string): Buffer {
	return member(3, Buffer.concat([member(1, digest), Buffer.from([3 * 8, 1]), member(4, text)]));
}

function trace(...records: Buffer[]): BuildLine {
	return { id: "moby.buildkit.trace", aux: Buffer.concat(records).toString("base64") };
}

describe("D36: buildProgress", () => {
	it("names the step that runs, and counts those that are done", () => {
		const progress = buildProgress();
		const long = `[2/3] RUN ${"x".repeat(300)}`;
		expect(progress.read(trace(vertex("a", "[1/3] FROM x"), vertex("b", long)))).toEqual({
			step: "",
			done: 0,
			total: 2,
		});
		expect(progress.read(trace(vertex("a", "[1/3] FROM x", { started: true })))).toMatchObject({
			step: "[1/3] FROM x",
		});
		const both = trace(
			vertex("a", "[1/3] FROM x", { started: true, completed: true }),
			vertex("b", long, { started: true }),
		);
		expect(progress.read(both)).toEqual({ step: long, done: 1, total: 2 });
		expect(progress.read({ id: "moby.image.id", aux: { ID: "sha256:0" } })).toMatchObject({ step: long });
	});

	it("has the output of the step that did not end", () => {
		const progress = buildProgress();
		progress.read(trace(vertex("a", "one", { started: true, completed: true }), output("a", "fine\n")));
		progress.read(trace(vertex("b", "two", { started: true }), output("b", "no such "), output("b", "package\n")));
		progress.read(trace(vertex("c", "three", { started: true, completed: true }), output("c", "fine too\n")));
		expect(progress.log()).toBe("no such package\n");
		for (let index = 0; index < 100; index++) progress.read(trace(output("b", "y".repeat(100))));
		expect(progress.log()).toHaveLength(4000);
	});

	it("reads the lines of the builder before BuildKit", () => {
		const progress = buildProgress();
		expect(progress.read({ stream: "Step 2/4 : RUN pip install a" })).toMatchObject({
			step: "Step 2/4 : RUN pip install a",
		});
		expect(progress.read({ stream: "no such package\n" })).toMatchObject({ step: "Step 2/4 : RUN pip install a" });
		expect(progress.log()).toContain("no such package\n");
	});

	it("ignores records that are cut or of another form", () => {
		const progress = buildProgress();
		const whole = vertex("a", "one", { started: true });
		for (let end = 0; end < whole.length; end++) progress.read(trace(whole.subarray(0, end)));
		progress.read({ id: "moby.buildkit.trace", aux: "####" });
		progress.read(trace(Buffer.from([255, 255, 255, 255])));
		expect(progress.read({})).toMatchObject({ step: "", done: 0 });
	});
});
