import { expect, it } from "vitest";
import type { AlertName } from "./rules.ts";
import { alertMessage, testMessage, textOf } from "./message.ts";
import { alertView } from "./state.ts";

it("D53: a text keeps within its limit, and counts the alerts that have no room", () => {
	const views = Array.from({ length: 50 }, (_, n) =>
		alertView(
			{ name: "SluiceCrashLoop", labels: { endpoint: `e${n}` }, value: 1, since: 0 },
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

it("D53: a message has critical alerts that fire first, and what is resolved last", () => {
	const view = (name: AlertName, resolvedAt?: number) =>
		alertView(
			{ name, labels: {}, value: 1, since: 0, resolvedAt },
			{ url: "https://sluice.example.com", iso: () => "2026-01-31T12:00:00.000Z" },
		);
	const given = [view("SluiceStoreDown", 1), view("SluiceOldestWait"), view("SluiceCrashLoop"), view("SluiceSwaps")];
	const { title, alerts } = alertMessage("alert_1", given);
	expect(title).toBe("SluiceCrashLoop and 3 more");
	expect(alerts.map(({ name }) => name)).toEqual([
		"SluiceCrashLoop",
		"SluiceOldestWait",
		"SluiceSwaps",
		"SluiceStoreDown",
	]);
});

it("D53: the text of what is resolved, and of a test", () => {
	const resolved = alertView(
		{ name: "SluiceOldestWait", labels: { endpoint: "waits" }, value: 90, since: 0, resolvedAt: 1 },
		{ url: "https://sluice.example.com", iso: () => "2026-01-31T12:00:00.000Z" },
	);
	expect(textOf(alertMessage("alert_1", [resolved]), 2000)).toMatch(
		/^RESOLVED SluiceOldestWait: it had fired since 2026.* A job of waits/,
	);
	expect(textOf(testMessage("alert_2"), 2000)).toBe("Test of Sluice's alerts: this receiver works.");
});
