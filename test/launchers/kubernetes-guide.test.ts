/** The guide's examples are what the launcher needs and accepts. */
import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { parse, parseAllDocuments } from "yaml";
import { readEndpoint } from "../../src/kernel/launchers/endpoint-settings.ts";
import { RIGHTS } from "../../src/modules/kubernetes/doctor.ts";

const GUIDE = readFileSync(new URL("../../docs/guides/kubernetes.md", import.meta.url), "utf8");
const blocks = [...GUIDE.matchAll(/```yaml\n([^]*?)```/g)].map((match) => match[1]!);

describe("docs/guides/kubernetes.md", () => {
	it("D36: its Role has the rights that sluice doctor checks, no more", () => {
		const role: any = parseAllDocuments(blocks[0]!)
			.map((document) => document.toJS())
			.find(({ kind }) => kind === "Role");
		expect(
			role.rules.map(({ resources, verbs }: { resources: string[]; verbs: string[] }) => ({
				resource: resources[0],
				verbs,
			})),
		).toEqual(RIGHTS);
	});

	it("D27: its endpoints are valid", () => {
		const { ocr } = parse(blocks[1]!).endpoints;
		expect(readEndpoint("ocr", ocr)).toMatchObject({ ok: true });
		const { podTemplate } = parse(blocks[2]!);
		const launcher = { ...ocr.launcher, podTemplate };
		expect(readEndpoint("ocr", { ...ocr, launcher })).toMatchObject({ ok: true });
		const { chat } = parse(blocks[3]!).endpoints;
		expect(readEndpoint("chat", chat)).toMatchObject({ ok: true });
	});
});
