"""Wrong inputs of the command line, with exactly what is said of each and the exit code.

`test_wrong_inputs.py` generates inputs for every option; this table is for people to read.
"""

import json

import pytest

from feemodel.cli import main
from tests.cli.test_cli import RAW

#: A command, then the exit code and the line on standard error, which is wrapped here.
TABLE = """
fee --size 128 --gas 0
  2 --gas: expected whole gas of at least 1, got 0 (feemodel fee --help)
fee --size -1 --gas 21000
  2 --size: expected whole bytes of at least 0, got -1 (feemodel fee --help)
fee --size 1.5 --gas 21000
  2 --size: expected a whole number, got '1.5' (feemodel fee --help)
fee --size 128 --gas 21000 --margin nan
  2 --margin: expected a number, got 'nan' (feemodel fee --help)
fee --size 128 --gas 21000 --margin -1
  2 --margin: expected a finite number, at least 0, got -1.0 (feemodel fee --help)
fee --size 128 --gas 21000 --preset moon
  2 --preset: expected one of linea-mainnet-2026-01, linea-mainnet-2025-02, linea-mainnet-2024-06,
  linea-sepolia-2025-12, got 'moon' (feemodel fee --help)
fee --size 128 --gas 21000 --record 0x02
  2 --record: expected 32 bytes, counted 1, got '0x02'
fee --size 010 --gas 21000
  2 --size: expected a whole number, got '010' (feemodel fee --help)
fee --size 128 --gas 21000 --gas 22000
  2 Parameter --gas specified multiple times (feemodel fee --help)
fee --size 128
  2 Parameter --gas requires an argument (feemodel fee --help)
fee --sise 3
  2 Parameter --size requires an argument. Did you mean --size instead of --sise? (feemodel fee --help)
fee --size 128 --gas 21000 --colour red
  2 Unknown option: --colour. Did you mean --record? (feemodel fee --help)
explain {
  2 call: not JSON at line 1 column 2 (Expecting property name enclosed in double quotes), got ''
explain 0x123
  2 transaction: expected an even number of hexadecimal digits, counted 3, got '0x123'
explain {"valeu":"0x1"}
  2 call.valeu: unknown field, did you mean value?, got '0x1'
compare {"data":"0x12"}
  2 --gas: required, because the call has data or no recipient and is not executed
explain raw.txt --intact
  2 --intact: expected a call, not a signed transaction, got 2
explain raw.txt --genesis g
  2 --genesis: expected a call, not a signed transaction, got 2
explain {} --genesis missing.json
  3 --genesis missing.json: no such file
explain {} --genesis genesis.json
  2 --genesis.config: expected an object with chainId, got None
explain {} --intact --gas 5
  2 --gas: expected none with --intact, which searches for the gas, got 5
explain missing.json
  3 missing.json: no such file
explain folder
  3 folder: a folder, not a file; read its files one by one
explain text
  2 call: not JSON at line 1 column 1 (Expecting value), got 'hello,world\\nand more'
sizes text
  3 text: columns: transactions lack nonce, from_address or from, to_address or to, value or value_string, input or
  data, gas_limit or gas, gas_price or max_fee_per_gas (for a column with another name: --columns nonce=NAME, or
  columns={'nonce': NAME}), got 'hello, world'
sizes cut.parquet
  3 cut.parquet: Parquet magic bytes not found in footer. Either the file is corrupted or this is not a parquet file.
sizes half.csv
  3 half.csv: CSV parse error: Row #2: Expected 7 columns, got 2: 1,2
sizes misspelt.csv
  3 misspelt.csv: columns: unknown column, did you mean maxFeePerGas? (--columns max_fee_per_gas=NAME, or
  columns={'max_fee_per_gas': NAME}), got 'maxFeePerGass'
sizes raw.txt --columns nonce
  2 --columns: expected FIELD=NAME, each once, got 'nonce'
sizes raw.txt --out there.csv
  2 --out: the file exists (--overwrite replaces it), got 'there.csv'
compare raw.txt --at 2024-13-01
  2 --at: expected a time such as 2024-06-14, 2024-06-14T12:00:00 or Unix seconds, got '2024-13-01'
compare raw.txt --set base.base_fee_scalr=1
  2 --set: unknown name, did you mean base_fee_scalar?, got 'base_fee_scalr'
compare raw.txt --set base.base_fee_scalar=much
  2 --set base.base_fee_scalar: expected an integer, got 'much'
compare {} --columns nonce=n
  2 --columns: expected only with a file, got 'nonce=n'
compare raw.txt --out c.xyz
  2 --out: expected a file name that ends in .nc or .csv or .parquet, got 'c.xyz'
compare raw.txt --chains=
  2 --chains: expected a value, got '' (feemodel compare --help)
backtest --hours 0
  2 --hours: expected a number above 0, got 0.0 (feemodel backtest --help)
backtest --hours 10000
  2 --hours: expected two rows or more, at most 723.5 h, got 10000.0
backtest --seed -1
  2 --seed: expected an integer of at least 0, got -1 (feemodel backtest --help)
backtest --l1 text
  3 --l1 text: columns: L1 fees lack timestamp or block_timestamp (for a column with another name: --l1-columns
  timestamp=NAME, or columns={'timestamp': NAME}), got 'hello, world'
backtest --l1 row.csv
  3 --l1 row.csv: scenario: expected at least two steps, got 1
backtest --l1-columns time
  2 --l1-columns: expected FIELD=NAME, each once, got 'time'
backtest --l1-columns base_fee=fee
  2 --l1-columns: expected only with --l1, got 'base_fee=fee'
backtest --arrival-rate 1e6
  2 --arrival-rate: expected at most 100,000 (per second; 125,280 per day = 1.45), got 1000000.0
calibrate --block-hours 1000
  2 --block-hours: expected a number from 600 s (one step) to 2.6046e+06 s (the history), got 3600000.0
report broadcast.json
  3 broadcast.json: expected transactions, found none
demo --figure there.csv
  2 --figure: expected a file name that ends in .png or .svg or .pdf, got 'there.csv'
simulate much.toml
  2 [elasticity]: expected a number, got 'much' (feemodel simulate --help)
simulate --elasticity 1000
  2 --elasticity: expected at most 100, got 1000.0
explain {} --dictionary x --codec brotli
  2 --dictionary: expected only with codec lzss or zstd, got 'x'
fetch --node http://x --blocks 7:9 --out x.parquet --tip-percentile 101
  2 --tip-percentile: expected at most 100, got 101.0
max-send op-mainnet {} --balance 1 --base-fee 1
  2 --l1-base-fee: required in wei, because op-mainnet charges for data
compare raw.txt --l1-base-fee 30
  2 --l1-base-fee: expected from 1,000 wei to 10,000,000 gwei on L1, in wei, got 30.0
compare {} --only scroll --set linea.fixed_cost=1
  2 --set: expected a parameter of a chain that is compared, got 'linea.…'
calibrate mine.csv
  2 Unused Tokens: ['mine.csv'] (feemodel calibrate --help)
backtest --hours 0.1
  2 --hours: expected two rows or more, at most 723.5 h, got 0.1
backtest --deadline 1
  2 --deadline: expected at least 60 (in seconds; 16 h = 57,600), got 1.0
backtest --lower-bound 5000 --upper-bound 4000
  2 --upper-bound: expected at least the lower bound, 5,000.0, got 4000.0
calibrate --loss-probability 2
  2 --loss-probability: expected a number below 1, got 2.0 (feemodel calibrate --help)
forecast --horizon soon
  2 --horizon: expected a number of seconds, or text such as 10min, 6h or 1d, got 'soon'
simulate --sla 16
  2 --sla: expected only with --posting deadline or price-cap, got 16.0
simulate --step 7
  2 --step: expected a whole number of steps in a day, got 7.0
simulate --block-hours 24
  2 --block-hours: expected only with --paths above 1, got 24.0
simulate --out month.csv
  2 --out: expected a file name that ends in .nc, got 'month.csv'
follow --store ledger.db
  3 --store ledger.db: file is not a database
follow --store new.db --final
  2 --final: expected only with --genesis or --blocks, got True
follow --store new.db --node http://x --blocks b
  2 --node: expected either this or --blocks, got 'http://x'
follow --store new.db --genesis genesis.json
  3 --genesis genesis.json: alloc 0x1111111111111111111111111111111111111111 balance: expected a whole number, got '010'
ledger info --store missing.db
  3 --store missing.db: no such ledger
finalize --store missing.db --block 0
  3 --store missing.db: no such ledger
prove --store missing.db --address 0x12
  3 --store missing.db: no such ledger
check-proof text --root 0x12
  3 text: the document: not JSON at line 1 column 1 (Expecting value), got 'hello,world\\nand more\\n'
serve --workers 0
  2 --workers: expected `int` >= 1, got '0'
serve --host 0.0.0.0
  2 --host: expected a loopback address, or behind_proxy, got '0.0.0.0'
serve --node foo
  2 --node: expected an address such as https://host:port/path, got 'foo'
serve --node 0123456789abcdef0123456789abcdef
  2 --node: expected an address such as https://host:port/path, got '(not shown)'
serve --node http://me:password
  2 --node: expected an address such as https://host:port/path, got '(not shown)'
serve --genesis genesis.json --node http://x/key
  2 --node: expected either this or genesis, got 'http://x'
serve --nod=http://me:password@x
  2 Unknown option: --nod. Did you mean --node? (feemodel serve --help)
fetch --node http://x --blocks 7 --out x.parquet
  2 --blocks: expected A:B, two block numbers, A less than B (B is not included), got '7'
fetch --node ftp://x --blocks 7:9 --out x.parquet
  2 --node: expected an address such as https://host:port/path, got '(not shown)'
max-send linea [] --balance 1 --base-fee 1
  2 call: expected a mapping, got []
"""
ADDRESS = "0x" + "11" * 20
HEADER = "nonce,from,to,value,input,gas,gas_price"
FILES = {
    "text": b"hello,world\nand more\n",
    "cut.parquet": b"PAR1" + bytes(100),
    "raw.txt": f"{RAW}\n".encode(),
    "half.csv": f"{HEADER}\n1,2\n".encode(),
    "misspelt.csv": f"{HEADER},maxFeePerGass\n1,{ADDRESS},{ADDRESS},0,0x,21000,1,2\n".encode(),
    "much.toml": b"elasticity = 'much'\n",
    "row.csv": b"timestamp,base_fee\n1700000000,1000000000\n",
    "ledger.db": b"SQLite format 3\0" + bytes(500),
    "genesis.json": json.dumps({"alloc": {ADDRESS: {"balance": "010"}}}).encode(),
    "there.csv": b"x", "broadcast.json": b'{"transactions": []}',
}  # fmt: skip


def cases():
    for row in TABLE.strip().replace("\n  ", "\0").split("\n"):
        command, *lines = row.split("\0")
        code, _, text = " ".join(lines).partition(" ")
        yield pytest.param(command, int(code), text, id=command)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("wrong")
    for name, content in FILES.items():
        (folder / name).write_bytes(content)
    (folder / "folder").mkdir()
    return folder


@pytest.mark.parametrize(("command", "code", "text"), list(cases()))
def test_a_wrong_input_is_answered_by_this_line(command, code, text, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)

    assert main(command.split()) == code
    assert capsys.readouterr() == ("", f"feemodel: {text}\n")


def test_a_wrong_input_leaves_no_file(folder):
    assert {path.name for path in folder.iterdir()} == {*FILES, "folder"}
