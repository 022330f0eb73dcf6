/** Definitions of metric families: name, type, labels and meaning, with how their values are read. */
import type { FamilyDescription, MetricType, MetricValue, Sample } from "../../../kernel/core/metrics/family.ts";
import type { Scrape } from "./scrape.ts";

export interface Metric extends FamilyDescription {
	read: (scrape: Scrape) => readonly Sample[];
}

type Define = (name: string, labels: readonly string[], help: string, read: Metric["read"]) => Metric;

const define =
	(type: MetricType): Define =>
	(name, labels, help, read) => ({ name, type, labels, help, read });

export const gauge = define("gauge");
export const counter = define("counter");
export const histogram = define("histogram");

/** The sample of a family without labels, if its value is known. */
export function one(value: MetricValue | undefined): Sample[] {
	return value === undefined ? [] : [[[], value]];
}

/** A sample for each member; the name of the member is the last label. */
export function each(values: Readonly<Record<string, MetricValue>>, ...labels: readonly string[]): Sample[] {
	return Object.entries(values).map(([name, value]) => [[...labels, name], value]);
}
