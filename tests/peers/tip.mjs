// Sends one transfer with the client's own prices: node tip.mjs ADDRESS (viem|ethers) {"chainId", "to"}; prints its hash
import { createWalletClient, defineChain, http } from 'viem'
import { mnemonicToAccount } from 'viem/accounts'
import { HDNodeWallet, JsonRpcProvider } from 'ethers'
import { address, mnemonic, parameters, report, scenario } from './outcomes.mjs'

const { chainId, to } = parameters
const scenarios = {
  viem: () => {
    const chain = defineChain({
      id: chainId, name: 'served', nativeCurrency: { name: 'Ether', symbol: 'ETH', decimals: 18 },
      rpcUrls: { default: { http: [address] } },
    })
    const wallet = createWalletClient({ chain, transport: http(address), account: mnemonicToAccount(mnemonic) })
    return { hash: () => wallet.sendTransaction({ to, value: 1n }) }
  },
  ethers: () => {
    const provider = new JsonRpcProvider(address, undefined, { cacheTimeout: -1 })
    const wallet = HDNodeWallet.fromPhrase(mnemonic, '', "m/44'/60'/0'/0/0").connect(provider)
    return { hash: async () => (await wallet.sendTransaction({ to, value: 1n })).hash }
  },
}
await report(scenarios[scenario](), [])
process.exit(0)
