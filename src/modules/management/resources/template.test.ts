import { describe, expect, it } from "vitest";
import { type TemplateContent, withTemplate } from "./template.ts";

const template: TemplateContent = {
	name: "captions",
	image: "captions:3",
	args: "python -u handler.py",
	disk: 30,
	mounts: { persistent: { size: 10, path: "/workspace" } },
	ports: ["8000/http"],
	env: { MODEL: "small", TOKEN: "t" },
	registry: "r1",
	serverless: true,
	public: false,
	category: "NVIDIA",
	startSsh: true,
	startJupyter: true,
	allowedCudaVersions: ["12.4"],
};
const container = {
	image: "captions:3",
	args: "python -u handler.py",
	disk: 30,
	ports: ["8000/http"],
	registry: "r1",
	env: { MODEL: "small", TOKEN: "t" },
};

describe("a template in the body of a request", () => {
	it("fills in the container, and nothing else", () => {
		expect(withTemplate(template, { name: "mine" })).toEqual({ ...container, name: "mine" });
	});

	it("members of the body win, variables one by one", () => {
		const body = { image: "other", disk: 5, ports: [], registry: null, env: { MODEL: "large", MORE: "1" } };
		expect(withTemplate(template, body)).toEqual({
			...container,
			...body,
			env: { MODEL: "large", TOKEN: "t", MORE: "1" },
		});
	});

	it("args replaces the whole command, cmd and entrypoint each its own part", () => {
		const { args: _, ...rest } = container;
		const whole = { ...template, args: '{"entrypoint":["sh"],"cmd":["-c"]}' };
		expect(withTemplate(whole, { args: "" })).toEqual({ ...rest, args: "" });
		expect(withTemplate(whole, { cmd: ["serve"] })).toEqual({ ...rest, entrypoint: ["sh"], cmd: ["serve"] });
		expect(withTemplate(whole, { entrypoint: [] })).toEqual({ ...rest, entrypoint: [], cmd: ["-c"] });
	});

	it.each([
		[{ pools: ["ADA_24"] }, { pools: ["ADA_24"], allowedCudaVersions: ["12.4"] }],
		[{ pools: ["ADA_24"], allowedCudaVersions: [] }, undefined],
		[{ pools: ["ADA_24"], minCudaVersion: "12.1" }, undefined],
		[{ minCudaVersion: "" }, undefined],
	])("CUDA versions only for a gpu without any: %j", (gpu, expected) => {
		expect(withTemplate(template, { gpu })["gpu"]).toEqual(expected ?? gpu);
		expect(withTemplate(template, {})["gpu"]).toBeUndefined();
	});
});
