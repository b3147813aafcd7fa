NAME three_partition
ROWS
 N cost
 E item_0
 E item_1
 E item_2
 E item_3
 E item_4
 E item_5
 E size_0
 E size_1
 E sum_0
 E sum_1
COLUMNS
 MARKER 'MARKER' 'INTORG'
 y_0_0 item_0 1
 y_0_0 size_0 1
 y_0_0 sum_0 46
 y_0_1 item_0 1
 y_0_1 size_1 1
 y_0_1 sum_1 46
 y_1_0 item_1 1
 y_1_0 size_0 1
 y_1_0 sum_0 38
 y_1_1 item_1 1
 y_1_1 size_1 1
 y_1_1 sum_1 38
 y_2_0 item_2 1
 y_2_0 size_0 1
 y_2_0 sum_0 35
 y_2_1 item_2 1
 y_2_1 size_1 1
 y_2_1 sum_1 35
 y_3_0 item_3 1
 y_3_0 size_0 1
 y_3_0 sum_0 27
 y_3_1 item_3 1
 y_3_1 size_1 1
 y_3_1 sum_1 27
 y_4_0 item_4 1
 y_4_0 size_0 1
 y_4_0 sum_0 27
 y_4_1 item_4 1
 y_4_1 size_1 1
 y_4_1 sum_1 27
 y_5_0 item_5 1
 y_5_0 size_0 1
 y_5_0 sum_0 27
 y_5_1 item_5 1
 y_5_1 size_1 1
 y_5_1 sum_1 27
 MARKER 'MARKER' 'INTEND'
RHS
 RHS item_0 1
 RHS item_1 1
 RHS item_2 1
 RHS item_3 1
 RHS item_4 1
 RHS item_5 1
 RHS size_0 3
 RHS size_1 3
 RHS sum_0 100
 RHS sum_1 100
RANGES
BOUNDS
 UP BOUND y_0_0 1
 UP BOUND y_0_1 1
 UP BOUND y_1_0 1
 UP BOUND y_1_1 1
 UP BOUND y_2_0 1
 UP BOUND y_2_1 1
 UP BOUND y_3_0 1
 UP BOUND y_3_1 1
 UP BOUND y_4_0 1
 UP BOUND y_4_1 1
 UP BOUND y_5_0 1
 UP BOUND y_5_1 1
ENDATA
