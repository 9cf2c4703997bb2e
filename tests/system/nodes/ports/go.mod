module feemodel/nodes/ports

go 1.24
