"""Files of tables and results: what cannot be read twice is refused, and each kind of text in Parquet is read."""

import os

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from feemodel.errors import UnreadableFile
from feemodel.io import read_l1_fees, read_transactions


@pytest.mark.parametrize("read", [read_l1_fees, read_transactions])
def test_a_table_from_a_pipe_is_refused_before_it_is_opened(tmp_path, read):
    path = tmp_path / "pipe"
    os.mkfifo(path)  # to open it would wait for a writer

    with pytest.raises(UnreadableFile, match="a pipe or a device"):
        read(path)


def test_the_text_of_a_parquet_file_is_read_in_each_of_its_types(tmp_path):
    path = tmp_path / "blocks.parquet"
    numbers = {"timestamp": [1, 2]}
    for kind in (pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())):
        pq.write_table(pa.table({**numbers, "base_fee": pa.array(["0xfffff", "7000000"], kind)}), path)
        assert read_l1_fees(path)["base_fee"].to_list() == [0xFFFFF, 7_000_000]


def test_an_export_of_etherscan_lacks_the_calldata(tmp_path):
    path = tmp_path / "export.csv"
    path.write_text('"Transaction Hash","Blockno","UnixTimestamp","From","To","Value_IN(ETH)"\n')

    with pytest.raises(
        UnreadableFile, match=r"transactions lack nonce, .*input or data, .*gas_price or max_fee_per_gas"
    ):
        read_transactions(path)
