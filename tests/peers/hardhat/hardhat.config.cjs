// A Hardhat project whose network is the server at SERVED; what it builds goes to the folder BUILT.
const { subtask } = require('hardhat/config')
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names')

// The compiler that npm installed, in place of a download.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async ({ solcVersion }) => ({
  compilerPath: require.resolve('solc/soljson.js'),
  isSolcJs: true,
  version: solcVersion,
  longVersion: require('solc').version(),
}))

const served = {
  url: process.env.SERVED,
  accounts: { mnemonic: 'test test test test test test test test test test test junk' },
}

module.exports = {
  solidity: '0.8.37',
  defaultNetwork: 'served',
  networks: { served },
  paths: { artifacts: `${process.env.BUILT}/artifacts`, cache: `${process.env.BUILT}/cache` },
}
