# Runs a second over runs in flight; folder: a file of points for each system.
set terminal svg size 720,420 font 'sans,12' background 'white'
set output out
set logscale xy
set key outside right
set grid
set xlabel 'runs in flight'
set ylabel 'runs/s (everysec)'
set xtics (1, 4, 16, 64, 256, 1000)
there(name) = int(system('test -s '.folder.'/'.name.' && echo 1 || echo 0'))
names = 'floor fleet langchain langchain-postgres'
shown = ''
do for [name in names] { if (there(name)) { shown = shown.' '.name } }
plot for [name in shown] folder.'/'.name using 1:2 with linespoints linewidth 2 pointtype 7 title name
