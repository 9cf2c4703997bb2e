// What the scripts of the clients share: their parameters, and how they tell what came of each step.
import { readFileSync } from 'node:fs'

export const [address, scenario, parameters] = [process.argv[2], process.argv[3], JSON.parse(process.argv[4])]

export const contracts = JSON.parse(
  readFileSync(new URL('../../data/development/contracts.json', import.meta.url)),
)

// The accounts of the development genesis and of anvil; nothing of value belongs there.
export const mnemonic = 'test test test test test test test test test test test junk'

// Takes one step after the other and prints a JSON object: of each its value, or its error and the causes of that, and
// the exchanges that it led to.
export async function report(steps, exchanges) {
  const told = {}
  for (const [name, step] of Object.entries(steps)) {
    exchanges.length = 0
    let outcome
    try {
      outcome = { value: (await step()) ?? null }
    } catch (error) {
      outcome = { errors: [...causes(error)] }
    }
    told[name] = { ...outcome, exchanges: [...exchanges] }
  }
  process.stdout.write(JSON.stringify(told, (_, value) => (typeof value === 'bigint' ? { bigint: `${value}` } : value)))
}

function* causes(error) {
  for (let cause = error; cause; cause = cause.cause) {
    const { name, code, reason, data, status, revert, error: answered } = cause
    yield {
      name, code, reason, data, status,
      message: cause.shortMessage ?? cause.message,
      revert: revert && { name: revert.name, args: [...revert.args] },
      answered,
    }
  }
}
