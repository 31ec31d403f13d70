"""The chapters of a story. Each is a function, fails alone and can be run alone.

    story = Story("doors")

    @story.shared
    def server():
        with Cardea() as server:
            yield server

    @story.chapter
    def a_door_opens(server):
        expect(server.request("GET", "/door")[0] == 200, "the door is shut")

    @story.chapter(needs=["a_door_opens"])
    def and_closes_again(server): ...

    if __name__ == "__main__":
        story.main()

A parameter of a chapter is the name of a shared thing. The runner makes the thing once, when the first chapter asks for it, and
cleans it up at the end. It makes a thing marked with `@story.fresh` for each chapter, and cleans it up after the chapter. Both may
have parameters in the same way. A chapter that builds on another chapter names it in `needs`.

    doors.py                          runs all chapters
    doors.py --list                   lists them
    doors.py and_closes_again         runs this one, after what it needs
    doors.py --OPTION=VALUE           for the options that the story declares: Story("doors", options={"packages": "js-client"})

The exit status is 0, 1 if a chapter failed, 2 if the command line is wrong, and 77 if every chapter was skipped.
"""
import inspect
import sys
import traceback

from server import SKIPPED, Cardea, Skipped


class Chapter:
    def __init__(self, name, run, needs, using):
        self.name, self.run, self.needs, self.using = name, run, needs, using
        self.result = None  # "ok", "FAILED", "skipped" or "not run"


class Things:
    """The values for the parameters of chapters: made when a chapter asks for them, cleaned up together."""

    def __init__(self, makers, outer=None):
        self.makers, self.outer = makers, outer
        self.made = {}  # name: (value, error)
        self.open = []

    def arguments(self, function, using=None):
        names = [name for name, p in inspect.signature(function).parameters.items() if p.default is p.empty]
        return {name: self.get((using or {}).get(name, name)) for name in names}

    def get(self, name):
        if name not in self.makers:
            if self.outer is None:
                raise LookupError(f"nothing is shared by the name `{name}`")
            return self.outer.get(name)
        if name not in self.made:
            self.made[name] = self.make(name)
        value, error = self.made[name]
        if error is not None:
            raise error  # the chapters that come later fail in the same way
        return value

    def make(self, name):
        try:
            value = self.makers[name](**self.arguments(self.makers[name]))
            if inspect.isgenerator(value):
                self.open.append(value)
                value = next(value)
            return value, None
        except (Exception, SystemExit) as error:
            return None, error

    def clean_up(self, is_quiet=False):
        errors = []
        while self.open:
            try:
                next(self.open.pop(), None)
            except Exception as error:
                errors.append(error)
        if errors and not is_quiet:
            raise errors[0]


class Story:
    def __init__(self, name, options=None):
        self.name = name
        self.options = dict(options or {})
        self.chapters = {}  # by name, in the order of the story
        self.things, self.makers_of_fresh = Things({}), {}

    def shared(self, make):
        """Registers something that chapters share. `make` returns it, or yields it once and cleans up afterwards."""
        self.things.makers[make.__name__] = make
        return make

    def fresh(self, make):
        """The same for something that the runner makes for each chapter."""
        self.makers_of_fresh[make.__name__] = make
        return make

    def chapter(self, run=None, needs=(), using=None):
        if run is None:
            return lambda run: self.chapter(run, needs, using)
        self.add(run.__name__, run, needs, using)
        return run

    def add(self, name, run, needs=(), using=None):
        """A chapter with another name; `chapter` takes the name of the function. `using` says which thing a parameter
        stands for, if not the one of its name: the same function can run against two servers."""
        if name in self.chapters:
            raise ValueError(f"the story has two chapters `{name}`")
        for other in needs:
            if other not in self.chapters:
                raise ValueError(f"chapter `{name}` needs `{other}`, which does not come before it")
        self.chapters[name] = Chapter(name, run, tuple(needs), using)

    def told_of_both(self, run):
        """A chapter about a parameter `server`, told of the thing `cardea` and again of the thing `kube`."""
        self.add(run.__name__, run, using={"server": "cardea"})
        self.add(f"{run.__name__}_in_kubernetes", run, using={"server": "kube"})
        return run

    def main(self, arguments=None):
        sys.exit(self.tell(sys.argv[1:] if arguments is None else arguments))

    def tell(self, arguments):
        names = []
        for argument in arguments:
            key, _, value = argument[2:].partition("=")
            if argument == "--list":
                for chapter in self.chapters.values():
                    print(chapter.name + (f" (needs {', '.join(chapter.needs)})" if chapter.needs else ""))
                return 0
            if argument.startswith("-") and key in self.options:
                self.options[key] = value
            elif argument in self.chapters:
                names.append(argument)
            else:
                print(f"{self.name}: there is neither a chapter nor an option `{argument}`. --list lists the chapters; "
                      f"options: {', '.join(f'--{o}=VALUE' for o in self.options) or 'none'}", file=sys.stderr)
                return 2
        chosen = self.with_needs(names or list(self.chapters))
        try:
            for chapter in chosen:
                self.run(chapter)
        finally:
            is_clean = self.clean_up()
        return self.sum_up(chosen, is_clean)

    def with_needs(self, names):
        wanted = set()

        def want(name):
            if name not in wanted:
                wanted.add(name)
                for other in self.chapters[name].needs:
                    want(other)
        for name in names:
            want(name)
        return [chapter for chapter in self.chapters.values() if chapter.name in wanted]

    def run(self, chapter):
        missing = [self.chapters[n] for n in chapter.needs if self.chapters[n].result != "ok"]
        if missing:
            all_skipped = all(m.result == "skipped" for m in missing)
            return self.say(chapter, "skipped" if all_skipped else "not run", f"it needs {', '.join(m.name for m in missing)}")
        own, dead_before = Things(self.makers_of_fresh, self.things), self.revive()
        try:
            try:
                chapter.run(**own.arguments(chapter.run, chapter.using))
            except BaseException:
                own.clean_up(is_quiet=True)  # the output of the chapter comes first
                raise
            own.clean_up()
            dead = [server.base for server in self.stopped() if server not in dead_before]
            if dead:
                raise AssertionError(f"the chapter ended with a shared server stopped: {', '.join(dead)}")
        except Skipped as skipped:
            return self.say(chapter, "skipped", skipped.reason)
        except (Exception, SystemExit) as error:
            traceback.print_exc()
            for server in Cardea.running:
                server.show_log()
            return self.say(chapter, "FAILED", f"{error}" if isinstance(error, AssertionError) else f"{type(error).__name__}: {error}")
        self.say(chapter, "ok")

    def stopped(self):
        return [server for server in Cardea.running if not server.alive()]

    def revive(self):
        """Starts the shared servers that an earlier chapter stopped. Returns those that do not start."""
        for server in self.stopped():
            try:
                server.start()
            except Exception:
                traceback.print_exc()  # the chapters that need it fail by themselves
        return self.stopped()

    def clean_up(self):
        try:
            self.things.clean_up()
            return True
        except Exception:
            traceback.print_exc()
            return False

    def say(self, chapter, result, why=""):
        chapter.result = result
        print(f"{result} {chapter.name}" + (f": {why}" if why else ""), flush=True)

    def sum_up(self, chosen, is_clean):
        def names(result):
            return [chapter.name for chapter in chosen if chapter.result == result]
        failed, not_run, skipped = names("FAILED"), names("not run"), names("skipped")
        if failed or not_run or not is_clean:
            print(f"{self.name}: FAILED: {', '.join(failed) or 'the clean-up'}" + (f"; not run: {', '.join(not_run)}" if not_run else ""), flush=True)
            return 1
        if len(skipped) == len(chosen):
            print(f"{self.name}: skipped", flush=True)
            return SKIPPED
        print(f"{self.name}: {len(chosen) - len(skipped)} of {len(chosen)} chapters passed" + (f", {len(skipped)} skipped" if skipped else ""), flush=True)
        return 0
