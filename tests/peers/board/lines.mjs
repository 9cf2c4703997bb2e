// Each line of standard input is a vector; each line of standard output is the library's answer as a string, null if the
// library does not offer the rule, or an object with the error that it threw.
import { createInterface } from "node:readline";

export async function answer(rules) {
  for await (const line of createInterface({ input: process.stdin })) {
    const vector = JSON.parse(line);
    const rule = rules[vector.rule];
    let result = null;
    try {
      result = rule ? await rule(vector.inputs, vector.upgrade) : null;
    } catch (error) {
      result = { error: String(error.message ?? error).split("\n")[0] };
    }
    process.stdout.write(JSON.stringify(typeof result === "bigint" ? String(result) : result) + "\n");
  }
}
