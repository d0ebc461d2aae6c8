/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A folder with this file is taken for the tests of a kernel. */
#pragma once
