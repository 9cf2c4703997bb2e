// What a wallet and a deployment send: node sending.mjs ADDRESS (viem|ethers|websocket) {"contract": {abi, bytecode}}
import { createPublicClient, createWalletClient, defineChain, http, webSocket } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { ContractFactory, HDNodeWallet, JsonRpcProvider, WebSocketProvider } from 'ethers'
import { address, mnemonic, parameters, report, scenario } from './outcomes.mjs'

const { contract, chainId } = parameters
const chain = defineChain({
  id: chainId, name: 'served', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
  rpcUrls: { default: { http: [address] } },
})

function viem(transport) {
  const client = createPublicClient({ chain, transport, pollingInterval: 50 })
  const wallet = createWalletClient({ chain, transport, account: mnemonicToAccount(mnemonic) })
  let deployed
  return {
    deployed: async () => {
      const hash = await wallet.deployContract(contract)
      const receipt = await client.waitForTransactionReceipt({ hash })
      deployed = { abi: contract.abi, address: receipt.contractAddress }
      return receipt.status
    },
    written: async () => {
      const { request } = await client.simulateContract({ ...deployed, functionName: 'increment', account: wallet.account })
      const receipt = await client.waitForTransactionReceipt({ hash: await wallet.writeContract(request) })
      const [log] = await client.getContractEvents({ ...deployed, fromBlock: receipt.blockNumber })
      return [receipt.status, log.args.count, await client.readContract({ ...deployed, functionName: 'count' })]
    },
    watchedBlocks: () => new Promise((resolve, reject) => {
      const seen = []
      const stop = client.watchBlocks({
        emitOnBegin: true, onError: reject,
        onBlock: ({ number }) => {
          seen.push(number)
          if (seen.length === 2) { stop(); resolve(seen[1] > seen[0]) }
        },
      })
      setTimeout(() => wallet.sendTransaction({ to: wallet.account.address, value: 1n }).catch(reject), 200)
    }),
    watchedEvents: () => new Promise((resolve, reject) => {
      const stop = client.watchContractEvent({
        ...deployed, onError: reject, onLogs: ([log]) => { stop(); resolve(log.args.count) },
      })
      setTimeout(() => wallet.writeContract({ ...deployed, functionName: 'increment' }).catch(reject), 200)
    }),
    accounts: () => client.request({ method: 'eth_accounts' }),
    prices: () => client.request({ method: 'feemodel_pricing' }),
  }
}

function ethers(provider) {
  const wallet = HDNodeWallet.fromPhrase(mnemonic, '', "m/44'/60'/0'/0/1").connect(provider)
  let deployed
  return {
    deployed: async () => {
      deployed = await new ContractFactory(contract.abi, contract.bytecode, wallet).deploy()
      await deployed.waitForDeployment()
      return (await deployed.deploymentTransaction().wait()).status
    },
    written: async () => {
      const receipt = await (await deployed.increment()).wait()
      const [log] = await deployed.queryFilter('Counted', receipt.blockNumber)
      return [receipt.status, log.args.count, await deployed.count()]
    },
    watchedBlocks: () => new Promise((resolve, reject) => {
      provider.once('block', () => provider.once('block', () => resolve(true)))
      for (const wait of [200, 600])
        setTimeout(() => wallet.sendTransaction({ to: wallet.address, value: 1n }).catch(reject), wait)
    }),
    watchedEvents: () => new Promise((resolve, reject) => {
      deployed.once('Counted', (by, count) => resolve(count))
      setTimeout(() => deployed.increment().catch(reject), 300)
    }),
    accounts: () => provider.send('eth_accounts', []),
    prices: () => provider.send('feemodel_pricing', []),
    ended: async () => { await provider.destroy() },
  }
}

const socket = address.replace('http', 'ws')
const scenarios = {
  viem: () => viem(http(address)),
  viemWebSocket: () => viem(webSocket(socket)),
  ethers: () => ethers(new JsonRpcProvider(address, undefined, { pollingInterval: 50, cacheTimeout: -1 })),
  ethersWebSocket: () => ethers(new WebSocketProvider(socket, undefined, { cacheTimeout: -1 })),
}
await report(scenarios[scenario](), [])
process.exit(0)
