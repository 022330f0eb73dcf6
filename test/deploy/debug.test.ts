import { it } from "vitest";
import { setTimeout as sleep } from "node:timers/promises";
import { monitoringSite } from "./monitoring-site.ts";
import { KEY, call } from "../support/service.ts";
it("debug", { timeout: 120_000 }, async (test) => {
	const place = await monitoringSite(test);
	if (process.env["FAULTS"]) for (const { begin } of place.faults[0]!) await begin();
	for (let i = 0; i < 3; i++) {
		await sleep(5000);
		for (const t of place.targets.slice(0, 3)) {
			const { text } = await fetch(`http://${t}/metrics`, { headers: { authorization: `Bearer ${KEY}` } }).then(
				async (r) => ({ text: await r.text() }),
			);
			console.log(
				t,
				text
					.split("\n")
					.filter(
						(l) =>
							/^sluice_(jobs|jobs_ended_total|webhooks\w*|endpoint_health|http_refusals_total|job_oldest\w*|workers)\{/.test(
								l,
							) && !/ 0$/.test(l),
					)
					.join("\n"),
			);
		}
	}
	const j = await call(`http://${place.targets[1]}`, "/v1/webhooks?limit=3");
	console.log(JSON.stringify(j.json).slice(0, 1500));
	const k = await call(`http://${place.targets[1]}`, "/v1/endpoints/works/jobs?limit=2");
	console.log(JSON.stringify(k.json).slice(0, 1500));
});
