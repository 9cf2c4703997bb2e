// A Hardhat project whose network is the server at SERVED; what it builds goes to the folder BUILT. With GAS_REPORT its
// network is Hardhat's own, and the gas of its tests goes to that file.
const { subtask } = require('hardhat/config')
const { TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD } = require('hardhat/builtin-tasks/task-names')

// The compiler that npm installed, in place of a download.
subtask(TASK_COMPILE_SOLIDITY_GET_SOLC_BUILD, async ({ solcVersion }) => ({
  compilerPath: require.resolve('solc/soljson.js'),
  isSolcJs: true,
  version: solcVersion,
  longVersion: require('solc').version(),
}))

const report = process.env.GAS_REPORT
if (report) require('hardhat-gas-reporter')

const served = {
  url: process.env.SERVED,
  accounts: { mnemonic: 'test test test test test test test test test test test junk' },
}

module.exports = {
  solidity: '0.8.37',
  defaultNetwork: report ? 'hardhat' : 'served',
  networks: report ? {} : { served },
  gasReporter: {
    enabled: Boolean(report),
    outputJSON: true,
    outputJSONFile: report,
    includeIntrinsicGas: true,
    offline: true,
  },
  paths: { artifacts: `${process.env.BUILT}/artifacts`, cache: `${process.env.BUILT}/cache` },
}
