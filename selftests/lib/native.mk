# SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause
#
# Native tests of what fabricctl is made of, under ASan and UBSan.  A makefile
# that includes this says
#
#	NAME		of its folder, which begins the names of the programs
#	UNITS		test_%.c, each a program with fabricctl's objects
#	SCRIPTS		test_%.py, which run fabricctl
#	SHARED		more .c for each program, without the ending
#
# and has $(OUT)/tests/native/$(NAME)_%, each of which prints TAP.

OUT	?= $(CURDIR)/../../build
override OUT := $(abspath $(OUT))

OBJ	:= $(OUT)/selftests/$(NAME)
BIN	:= $(OUT)/tests/native
LIB	:= $(OUT)/loader-asan/libfabricctl.a
# the same libraries, whatever they are
PKGS	:= $(shell sed -n "s/^PKGS[[:space:]]*:= //p" ../../loader/Makefile)

FLAGS	:= -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -Wvla -Wstrict-prototypes \
	-Wmissing-prototypes -Wno-missing-field-initializers -I../../uapi -I../../kmod \
	-I../../loader $(shell pkg-config --cflags $(PKGS)) -MMD -MP
SAN	:= -g -O1 -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
LIBS	:= $(shell pkg-config --libs $(PKGS)) -lcmocka -lm

tests	:= $(UNITS:%=$(BIN)/$(NAME)_%) $(SCRIPTS:%=$(BIN)/$(NAME)_%.py)

all: loader $(tests)

# The loader's own makefile knows what there is to do.
loader:
	+@$(MAKE) -s -C ../../loader OUT=$(OUT) all asan lib-asan

check: all
	@set -e; for t in $(tests); do $$t; done

$(BIN)/$(NAME)_%: $(OBJ)/test_%.o $(SHARED:%=$(OBJ)/%.o) $(LIB)
	@mkdir -p $(@D)
	$(CC) $(SAN) $(LDFLAGS) -o $@ $^ $(LIBS)

$(LIB): loader ;

$(OBJ)/%.o: %.c
	@mkdir -p $(@D)
	$(CC) $(FLAGS) $(SAN) -c -o $@ $<

$(BIN)/$(NAME)_%.py: test_%.py
	@mkdir -p $(@D)
	@ln -sfn $(abspath $<) $@

clean:
	rm -rf $(OBJ) $(tests)

-include $(wildcard $(OBJ)/*.d)

.SECONDARY:
.DELETE_ON_ERROR:
.PHONY: all loader check clean
