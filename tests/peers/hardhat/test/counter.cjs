const assert = require('node:assert')
const { artifacts, network } = require('hardhat')
const { BrowserProvider, ContractFactory } = require('ethers')

describe('Counter', () => {
  it('is deployed, counts, and emits an event', async () => {
    const provider = new BrowserProvider(network.provider)
    const signer = await provider.getSigner()
    const { abi, bytecode } = await artifacts.readArtifact('Counter')
    const counter = await new ContractFactory(abi, bytecode, signer).deploy()
    await counter.waitForDeployment()
    const receipt = await (await counter.increment()).wait()
    assert.equal(receipt.status, 1)
    assert.equal(await counter.count(), 1n)
    const events = await counter.queryFilter('Counted', receipt.blockNumber, receipt.blockNumber)
    assert.equal(events[0].args.by, await signer.getAddress())
  })
})
