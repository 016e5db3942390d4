# What a turn takes over the thread's length; folder: a file of points for each system.
set terminal svg size 720,420 font 'sans,12' background 'white'
set output out
set logscale xy
set key outside right
set grid
set xlabel 'messages of the thread'
set ylabel 'ms of a turn'
there(name) = int(system('test -s '.folder.'/'.name.' && echo 1 || echo 0'))
title_of(name) = name eq 'peer' ? 'langchain-postgres' : 'fleet (always)'
shown = ''
do for [name in 'fleet peer'] { if (there(name)) { shown = shown.' '.name } }
plot for [name in shown] folder.'/'.name using 1:2 with linespoints linewidth 2 pointtype 7 title title_of(name)
