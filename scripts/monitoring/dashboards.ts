/** Grafana's JSON of the dashboards. */
import type { Panel } from "./panel.ts";
import { type Dashboard, DASHBOARDS } from "./panels.ts";

/** Grafana's grid has 24 columns. */
const COLUMNS = 24;
const SIZES = {
	stat: { w: 4, h: 4 },
	timeseries: { w: 12, h: 8 },
} as const satisfies Record<Panel["kind"], object>;

const SOURCE = { type: "prometheus", uid: "${source}" };

const VARIABLES = {
	endpoint: { label: "Endpoint", query: "label_values(sluice_jobs, endpoint)" },
	instance: { label: "Server", query: "label_values(sluice_build_info, instance)" },
} as const;

function panelAt({ title, description, unit, kind, query, legend }: Panel, id: number, at: { x: number; y: number }) {
	return {
		id,
		title,
		description,
		type: kind,
		datasource: SOURCE,
		gridPos: { ...SIZES[kind], ...at },
		fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
		targets: [{ refId: "A", datasource: SOURCE, expr: query, legendFormat: legend ?? "__auto" }],
	};
}

/** Row by row, as words in a line. */
function placed(panels: readonly Panel[]): object[] {
	let [x, y, height] = [0, 0, 0];
	return panels.map((panel, index) => {
		const { w, h } = SIZES[panel.kind];
		if (x + w > COLUMNS || (x > 0 && h !== height)) [x, y] = [0, y + height];
		const made = panelAt(panel, index + 1, { x, y });
		[x, height] = [x + w, h];
		return made;
	});
}

function dashboardOf({ id, title, description, variable, panels }: Dashboard): object {
	return {
		uid: `sluice-${id}`,
		title: `Sluice: ${title}`,
		description,
		tags: ["sluice"],
		schemaVersion: 39,
		editable: true,
		refresh: "30s",
		time: { from: "now-6h", to: "now" },
		templating: {
			list: [
				{ name: "source", label: "Source", type: "datasource", query: "prometheus" },
				...(variable === undefined
					? []
					: [
							{
								name: variable,
								...VARIABLES[variable],
								type: "query",
								datasource: SOURCE,
								refresh: 2,
								sort: 1,
								multi: true,
								includeAll: true,
								allValue: ".*",
								current: { text: "All", value: "$__all" },
							},
						]),
			],
		},
		panels: placed(panels),
	};
}

/** Text of each file, by its path in the repository. */
export function dashboardFiles(): [path: string, text: string][] {
	return DASHBOARDS.map((each) => [
		`deploy/grafana/dashboards/${each.id}.json`,
		`${JSON.stringify(dashboardOf(each), undefined, "\t")}\n`,
	]);
}
