<?php

// This client as `hookwire-conformance --client` tries it: each line says what to do, and what came of it is printed.

declare(strict_types=1);

require __DIR__ . '/../hookwire.php';

use Hookwire\{Denied, Hooks, HostGone, Json, Pending, RequestFailed, Stopped};

function client(array $settings): Hooks
{
    $given = ['log' => fn (string $text) => null];
    isset($settings['fail']) && $given['fail'] = $settings['fail'];
    isset($settings['deadlineMs']) && $given['deadline'] = $settings['deadlineMs'] / 1000;
    isset($settings['approve']) && $given['approve'] = fn () => $settings['approve'];
    isset($settings['complete']) && $given['complete'] = fn () => ['text' => $settings['complete']];
    $hooks = new Hooks(...$given);
    foreach ($settings['hooks'] ?? [] as $hook) {
        $definition = ['name' => $hook['name'], 'on' => $hook['on'], 'if' => $hook['if']];
        $hooks->on($definition, fn () => isset($hook['fails']) ? throw new Exception($hook['fails']) : $hook['answer']);
    }
    return $hooks;
}

function obey(Pending $pending): array
{
    try {
        return ['run' => $pending->wait()->enforce()];
    } catch (Stopped $stopped) {
        return ['stop' => $stopped->getMessage()];
    } catch (Denied $denied) {
        return ['deny' => $denied->getMessage()];
    } catch (RequestFailed $refused) {
        return ['refused' => $refused->getMessage()];
    } catch (HostGone) {
        return ['cancelled' => true];
    }
}

$hooks = null;
$pending = [];
$input = '';
stream_set_blocking(STDIN, false);
while (!feof(STDIN) || $pending) {
    $read = array_filter([feof(STDIN) ? null : STDIN, $hooks?->stream()]);
    [$write, $except] = [[], []];
    $read ? stream_select($read, $write, $except, 0, 20_000) : usleep(20_000);
    $input .= feof(STDIN) ? '' : fread(STDIN, 1 << 16);
    while (($end = strpos($input, "\n")) !== false) {
        $line = Json::parse(substr($input, 0, $end));
        $input = substr($input, $end + 1);
        if (isset($line['cancel'])) {
            $pending[$line['cancel']]->cancel();
        } elseif (isset($line['dispatch'])) {
            $pending[$line['as']] = $hooks->begin($line['dispatch']);
        } else {
            $hooks = client((array) $line['settings']);
        }
    }
    $hooks?->poll();
    foreach ($pending as $name => $one) {
        if ($one->isDone()) {
            echo Json::write(['as' => $name] + obey($one)), "\n";
            unset($pending[$name]);
        }
    }
}
$hooks?->close();
