import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { folder } from "../../../../test/support/service.ts";
import { savedMedia } from "./saved-media.ts";

const PNG = Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), Buffer.alloc(90, 7)]);

it("D36: pictures of an output become files, and the text names them; all else stays as it is", () => {
	const place = folder();
	onTestFinished(() => place.remove());
	const { save } = savedMedia(place.path);
	const other = '{"n": 12345678901234567890, "image": "a.png"}';
	expect(save(other, "a-output")).toBe(other);
	const base64 = PNG.toString("base64");
	const url = `data:image/png;base64,${base64.slice(0, -4)}`;
	const text = `{"n": 12345678901234567890, "images": ["${base64}"], "url": "${url}"}`;
	expect(save(text, "a-output")).toBe(
		'{"n": 12345678901234567890, "images": ["image of 1 kB: .sluice/outputs/a-output-1.png"], ' +
			'"url": "image of 1 kB: .sluice/outputs/a-output-2.png"}',
	);
	const outputs = join(place.path, ".sluice/outputs");
	expect(readFileSync(join(outputs, "a-output-1.png"))).toEqual(PNG);
	for (let n = 0; n < 210; n += 1) save(text, `job${n}`);
	expect(readdirSync(outputs)).toHaveLength(200);
	expect(readdirSync(outputs)).toContain("job209-2.png");
});
