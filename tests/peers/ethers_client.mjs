// ethers as pages and scripts use it: node ethers_client.mjs ADDRESS SCENARIO PARAMETERS
import { Contract, HDNodeWallet, JsonRpcProvider } from 'ethers'
import { address, contracts, mnemonic, parameters, report, scenario } from './outcomes.mjs'

const exchanges = []
const provider = new JsonRpcProvider(address)
provider.on('debug', ({ action, payload }) => {
  if (action === 'sendRpcPayload') exchanges.push(Array.isArray(payload) ? payload.map(noted) : noted(payload))
})
const noted = ({ method, params }) => ({ method, params })

const holder = HDNodeWallet.fromPhrase(mnemonic).connect(provider)
const { stranger } = parameters
const contract = ({ addresses, abi }) => new Contract(addresses[0], abi, holder)
const [token, pool, records] = [contracts.Token, contracts.Pool, contracts.Records].map(contract)
const TOO_MUCH = 10n ** 30n

// As JSON has it: every field that ethers made out of the answer.
const block = async (...which) => {
  const found = await provider.getBlock(...which)
  return found && { ...found.toJSON(), transactions: found.transactions }
}
const feeData = async () => {
  const { gasPrice, maxFeePerGas, maxPriorityFeePerGas } = await provider.getFeeData()
  return { gasPrice, maxFeePerGas, maxPriorityFeePerGas }
}

const reads = {
  chainId: async () => (await provider.getNetwork()).chainId,
  blockNumber: () => provider.getBlockNumber(),
  block: () => block('latest'),
  blockWithTransactions: () => block('latest', true),
  noBlock: () => block(2 ** 40),
  feeData,
}

const scenarios = {
  development: {
    ...reads,
    rollup: () =>
      provider.send('rollup_estimateGas', [{ from: holder.address, to: stranger, value: '0x0' }]),
    rollupOverridden: () =>
      provider.send('rollup_estimateGas', [
        { from: stranger, to: holder.address, value: '0x5' }, { [stranger]: { balance: '0xde0b6b3a7640000' } },
      ]),
    estimate: () => provider.estimateGas({ from: holder.address, to: stranger, value: 5n }),
    balance: () => provider.getBalance(holder.address),
    nonce: () => provider.getTransactionCount(holder.address, 'pending'),
    reads: () =>
      Promise.all([
        token.name(), token.symbol(), token.decimals(), token.balanceOf(holder.address), provider.getBalance(stranger),
      ]),
    simulated: () => token.transfer.staticCall(stranger, 5n),
    populated: () => holder.populateTransaction({ to: stranger, value: 5n }),
    sent: () => holder.sendTransaction({ to: stranger, value: 5n }),

    revert: () => token.transfer.estimateGas(stranger, TOO_MUCH),
    customError: () => pool.quote(stranger, 5n),
    panic: () => records.valueAt(10n ** 9n),
    noFunds: () => provider.estimateGas({ from: stranger, to: holder.address, value: 5n }),
    noMethod: () => provider.send('eth_nothing', []),
  },
}

await report(scenarios[scenario], exchanges)
provider.destroy()
