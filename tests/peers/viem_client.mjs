// viem as wallets and pages use it: node viem_client.mjs ADDRESS SCENARIO PARAMETERS
import { createPublicClient, createWalletClient, encodeFunctionData, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { linea } from 'viem/chains'
import { estimateGas } from 'viem/linea'
import { address, contracts, mnemonic, parameters, report, scenario } from './outcomes.mjs'

const exchanges = []
const transport = (options = {}) =>
  http(address, {
    retryCount: 0,
    timeout: 60_000, // on a machine that does much else
    // A batch is noted as a list, a call as itself; the codes are those of the answers, 0 where there is a result.
    onFetchRequest: async (request) => {
      const body = await request.clone().json()
      exchanges.push(Array.isArray(body) ? body.map(noted) : noted(body))
    },
    onFetchResponse: async (response) => {
      if (!response.headers.get('content-type').includes('json') || !response.ok) return
      const answers = await response.clone().json()
      for (const { id, error } of [answers].flat())
        exchanges.flat().find((call) => call.id === id).code = error?.code ?? 0
    },
    ...options,
  })
const noted = ({ id, method, params }) => ({ id, method, params })

const holder = mnemonicToAccount(mnemonic)
const { stranger } = parameters
const client = createPublicClient({ transport: transport() })
const [token, birch] = contracts.Token.addresses.map((where) => ({ address: where, abi: contracts.Token.abi }))
const pool = { address: contracts.Pool.addresses[0], abi: contracts.Pool.abi }
const records = { address: contracts.Records.addresses[0], abi: contracts.Records.abi }
const transfer = (value) => encodeFunctionData({ ...token, functionName: 'transfer', args: [stranger, value] })
const TOO_MUCH = 10n ** 30n
const funded = [{ address: stranger, balance: 10n ** 18n }]

const reads = {
  chainId: () => client.getChainId(),
  blockNumber: () => client.getBlockNumber(),
  block: () => client.getBlock(),
  noBlock: () => client.getBlock({ blockNumber: 2n ** 40n }),
  gasPrice: () => client.getGasPrice(),
  feeHistory: () => client.getFeeHistory({ blockCount: 4, rewardPercentiles: [25, 75] }),
  fees: () => client.estimateFeesPerGas(),
  legacyFees: () => client.estimateFeesPerGas({ type: 'legacy' }),
  priorityFee: () => client.estimateMaxPriorityFeePerGas(),
  overridden: () => estimateGas(client, { account: stranger, to: holder.address, value: 5n, stateOverride: funded }),
}

const scenarios = {
  development: {
    ...reads,
    balance: () => client.getBalance({ address: holder.address }),
    noCode: () => client.getCode({ address: stranger }),
    nonce: () => client.getTransactionCount({ address: holder.address }),
    minimal: () => estimateGas(client, { account: holder.address, to: stranger, value: 0n }),
    atBlock: () => estimateGas(client, { account: holder.address, to: stranger, value: 0n, blockTag: 'latest' }),
    atNumber: () => estimateGas(client, { account: holder.address, to: stranger, value: 0n, blockNumber: 0n }),
    overriddenAtBlock: () =>
      estimateGas(client, {
        account: stranger, to: holder.address, value: 5n, stateOverride: funded, blockTag: 'latest',
      }),
    everyField: () =>
      estimateGas(client, {
        account: holder, to: token.address, data: transfer(5n), value: 0n, nonce: 3, gas: 100_000n,
        maxFeePerGas: 10n ** 9n, maxPriorityFeePerGas: 10n ** 8n, accessList: [],
      }),
    ethOverridden: () =>
      client.estimateGas({ account: stranger, to: holder.address, value: 5n, stateOverride: funded }),
    delegation: async () =>
      client.estimateGas({
        account: holder, to: stranger,
        authorizationList: [await holder.signAuthorization({ address: token.address, chainId: 1337, nonce: 1 })],
      }),
    call: () => client.call({ account: holder, to: token.address, data: transfer(5n) }),
    callOverridden: async () =>
      client.call({
        to: stranger, data: encodeFunctionData({ ...token, functionName: 'decimals' }),
        stateOverride: [{ address: stranger, code: await client.getCode({ address: token.address }) }],
      }),
    reads: () =>
      Promise.all([
        client.readContract({ ...token, functionName: 'name' }),
        client.readContract({ ...birch, functionName: 'symbol' }),
        client.readContract({ ...token, functionName: 'decimals' }),
        client.readContract({ ...token, functionName: 'balanceOf', args: [holder.address] }),
      ]),
    deployless: () =>
      client.multicall({
        deployless: true, allowFailure: false,
        contracts: [
          { ...token, functionName: 'symbol' },
          { ...pool, functionName: 'quote', args: [token.address, 10n ** 18n] },
          { ...records, functionName: 'length' },
        ],
      }),
    simulated: async () =>
      (await client.simulateContract({ ...token, account: holder, functionName: 'transfer', args: [stranger, 5n] }))
        .result,
    batch: async () => {
      const batching = createPublicClient({ transport: transport({ batch: true }) })
      const failing = batching.request({ method: 'eth_nothing' }).catch((error) => error.code)
      return Promise.all([
        batching.getChainId(),
        batching.getBlockNumber(),
        batching.getBalance({ address: holder.address }),
        batching.readContract({ ...token, functionName: 'symbol' }),
        failing,
      ])
    },

    preparedTransfer: () =>
      wallet().prepareTransactionRequest({ to: token.address, data: transfer(5n) }).then(fields),
    signed: async () => {
      const request = await wallet().prepareTransactionRequest({ to: token.address, data: transfer(5n) })
      return holder.signTransaction(request)
    },
    revert: () => estimateGas(client, { account: holder.address, to: token.address, data: transfer(TOO_MUCH) }),
    ethRevert: () => client.estimateGas({ account: holder.address, to: token.address, data: transfer(TOO_MUCH) }),
    simulatedRevert: () =>
      client.simulateContract({ ...token, account: holder, functionName: 'transfer', args: [stranger, TOO_MUCH] }),
    customError: () => client.readContract({ ...pool, functionName: 'quote', args: [stranger, 5n] }),
    customErrorOfEstimate: () =>
      client.estimateContractGas({
        ...token, account: holder.address, functionName: 'transferFrom', args: [stranger, stranger, 5n],
      }),
    panic: () => client.readContract({ ...records, functionName: 'valueAt', args: [10n ** 9n] }),
    noFunds: () => estimateGas(client, { account: stranger, to: holder.address, value: 5n }),
    ethNoFunds: () => client.estimateGas({ account: stranger, to: holder.address, value: 5n }),
    feeTooLow: () =>
      client.estimateGas({ account: holder.address, to: stranger, maxFeePerGas: 1n, maxPriorityFeePerGas: 0n }),
    gasTooHigh: () => estimateGas(client, { account: holder.address, to: stranger, gas: 30_000_001n }),
    noMethod: () => client.request({ method: 'eth_nothing', params: [] }),
  },
}

// A wallet on a chain whose fees are asked for as on Linea.
function wallet() {
  return createWalletClient({ account: holder, chain: { ...linea, id: 1337 }, transport: transport() })
}

const fields = ({ account, ...request }) => request

await report(scenarios[scenario], exchanges)
