module feemodel/nodes/lines

go 1.24
