"""`perf stat -x,` of five processors, written from the format."""

from __future__ import annotations

BROADWELL = """\
# started on Mon Mar  2 10:00:00 2026

20000000000,,cycles,10000000000,100.00,2.000,GHz
10000000000,,instructions,10000000000,100.00,0.50,insn per cycle
300000000,,r0e08,10000000000,100.00,,
60000000,,r0e49,10000000000,100.00,,
40000000,,r0e85,10000000000,100.00,,
6000000000,,r1008,10000000000,100.00,,
1000000000,,r1049,10000000000,100.00,,
1000000000,,r1085,10000000000,100.00,,
"""
DECK = """\
20000000000,,cycles,10000000000,100.00,,
444444444,,dTLB-load-misses,4444000000,44.44,,
<not counted>,,r1008,0,0.00,,
<not supported>,,r28bc,0,100.00,,
"""
SKYLAKE = """\
     1.000123456,1000000,,cycles:u,1000000000,100.00,,
     1.000123456,2000000,,instructions:u,1000000000,100.00,2.00,insn per cycle
     1.000123456,1000,,"cpu/event=0x08,umask=0x0e/u",1000000000,100.00,,
     2.000223456,3000000,,cycles:u,1000000000,100.00,,
     2.000223456,2000000,,instructions:u,1000000000,100.00,0.67,insn per cycle
     2.000223456,<not counted>,,"cpu/event=0x08,umask=0x0e/u",0,0.00,,
""".replace('"', "")
ZEN4 = """\
CPU0,5000000,,cycles,1000000000,100.00,,
CPU1,3000000,,cycles,1000000000,100.00,,
CPU0,4000000,,ex_ret_instr,1000000000,100.00,,
CPU1,4000000,,ex_ret_instr,1000000000,100.00,,
CPU0,6000,,ls_l1_d_tlb_miss.all_l2_miss,1000000000,100.00,,
CPU1,2000,,ls_l1_d_tlb_miss.all_l2_miss,1000000000,100.00,,
"""
NEOVERSE = """\
2000000,,cpu_cycles,1000000000,100.00,,
4000000,,inst_retired,1000000000,100.00,,
8000,,dtlb_walk,1000000000,100.00,,
400,,itlb_walk,1000000000,100.00,,
1003.24,msec,task-clock,1003240000,100.00,0.999,CPUs utilized
"""
KUNPENG = """\
2000000,,cycles,1000000000,100.00,,
1000000,,instructions,1000000000,100.00,,
30000,,r4c,1000000000,100.00,,
10000,,l1d_tlb_refill_wr,1000000000,100.00,,
2000,,iTLB-load-misses,500000000,50.00,,
"""

DECK_FOR_PEOPLE = """\
sampling: the command's own output, 12 lines of it

 Performance counter stats for 'system wide':

 4,449,356,965,642,820      dTLB-loads
     2,105,010,276,841      dTLB-load-misses          #    0.05% of all dTLB cache accesses
       105,583,416,023      dTLB-store-misses
       932,006,148,259      iTLB-load-misses
12,531,110,754,255,500      instructions              #    1.10  insn per cycle
11,409,758,430,713,700      cycles
    49,275,391,837,172      d-cycles-waited
    20,529,010,929,301      i-cycles-waited
       651,975,222,175      cache-misses                                  (36.36%)
        15,765,631,111      d-main-memory-reads
       <not supported>      i-main-memory-reads
          1,003.24 msec     task-clock                #    0.999 CPUs utilized

      42870.123456789 seconds time elapsed

       0.001000000 seconds user
"""
"""`perf stat -a -S -B` of the ASE deck with its counts, as perf prints them for people."""
