-- Draws from one of sysbench's distributions and prints how often each value came.

sysbench.cmdline.options = {
  kind = {"Name of the distribution", "uniform"},
  size = {"Largest value; the smallest is 1", 10},
  draws = {"How many draws", 1000},
}

function event()
  local draw = sysbench.rand[sysbench.opt.kind]
  local counts = {}
  for value = 1, sysbench.opt.size do
    counts[value] = 0
  end
  for _ = 1, sysbench.opt.draws do
    local value = tonumber(draw(1, sysbench.opt.size))
    counts[value] = counts[value] + 1
  end
  for value = 1, sysbench.opt.size do
    print("drawn", value, counts[value])
  end
end
