import { expect, it } from "vitest";
import { alertMessage, textOf } from "./alert-message.ts";
import { alertView } from "./alert-state.ts";

it("D53: a text keeps within its limit, and counts the alerts that have no room", () => {
	const views = Array.from({ length: 50 }, (_, n) =>
		alertView(
			{ name: "SluiceCrashLoop", labels: { endpoint: `e${n}` }, value: 1, since: 0, owed: [] },
			{ url: "https://sluice.example.com", iso: () => "2026-01-31T12:00:00.000Z" },
		),
	);
	const message = alertMessage("alert_1", views);
	expect(message).toMatchObject({ title: "SluiceCrashLoop and 49 more", urgent: true });
	const text = textOf(message, 2000);
	const shown = text.match(/CRITICAL SluiceCrashLoop: Workers of e\d+ exit/g)!.length;
	expect(text.length).toBeLessThanOrEqual(2000);
	expect(text.endsWith(`\n\nand ${50 - shown} more: sluice alerts`)).toBe(true);
	expect(textOf(message, 50_000)).not.toContain("more:");
});
