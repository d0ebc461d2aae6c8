# SPDX-License-Identifier: GPL-2.0-or-later
# Each of these starts others until it may not any more, which ends it and makes room for others'.
while :; do
	sh /troubles/bomb.sh &
done
