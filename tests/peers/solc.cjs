#!/usr/bin/env node
// The compiler that npm installed, called as forge calls the native one.
const solc = require('solc')
if (process.argv.includes('--version')) {
  console.log(`solc, the solidity compiler commandline interface\nVersion: ${solc.version()}`)
} else {
  const chunks = []
  process.stdin.on('data', (chunk) => chunks.push(chunk))
  process.stdin.on('end', () => process.stdout.write(solc.compile(Buffer.concat(chunks).toString())))
}
